import type { EventEnvelope, RunStatus } from '#contracts';

export interface Lane {
  activity: string;
  state: 'working' | 'done' | 'failed';
  searches: number;
  reads: number;
  notes: number;
}

/** What a person watching a run wants to know, folded from its events. */
export interface ProgressState {
  status: RunStatus;
  supervisor: Lane;
  /** By delegation number. */
  workers: ReadonlyMap<number, Lane>;
  sources: number;
  credits: { spent: number; reserved: number; limit: number; forecast?: number } | undefined;
  /** Characters of the report that have been streamed in the present attempt. */
  answerChars: number;
  lastError: string | undefined;
}

const NEW_LANE: Lane = { activity: '', state: 'working', searches: 0, reads: 0, notes: 0 };

export const initialProgress: ProgressState = {
  status: 'queued',
  supervisor: NEW_LANE,
  workers: new Map(),
  sources: 0,
  credits: undefined,
  answerChars: 0,
  lastError: undefined,
};

/** The next state; the given one is not changed. Unknown events change nothing. */
export function foldProgress(state: ProgressState, event: EventEnvelope): ProgressState {
  switch (event.type) {
    case 'run_status':
      return { ...state, status: event.status };
    case 'research_status':
      return foldResearch(state, event);
    case 'web_status':
      return withLane(state, event.worker, (lane) => ({
        ...lane,
        activity: event.message,
        searches: lane.searches + Number(event.status === 'success' && event.tool === 'search'),
        reads: lane.reads + Number(event.status === 'success' && event.tool === 'read'),
      }));
    case 'scratchpad_status':
      return withLane(state, event.worker, (lane) => ({
        ...lane,
        activity: event.activity ?? lane.activity,
        notes: lane.notes + Number(event.operation === 'append' && event.state === 'completed'),
      }));
    case 'budget_status':
      return { ...state, credits: { spent: event.spent, reserved: event.reserved, limit: event.limit, ...(event.forecast === undefined ? {} : { forecast: event.forecast }) } };
    case 'source':
      return { ...state, sources: state.sources + 1 };
    case 'content':
      return { ...state, answerChars: state.answerChars + event.content.length };
    case 'attempt':
      return { ...state, answerChars: event.parts.reduce((sum, part) => sum + (part.type === 'content' ? part.content.length : 0), 0) };
    case 'attempt_end':
      return { ...state, answerChars: 0 };
    case 'settlement':
      return event.role === 'supervisor' ? { ...state, answerChars: 0 } : state;
    case 'error':
      return { ...state, lastError: event.message };
    default:
      return state;
  }
}

/** A delegation's own status opens and closes the lane of its worker; anything else is what that lane is doing. */
function foldResearch(state: ProgressState, event: Extract<EventEnvelope, { type: 'research_status' }>): ProgressState {
  const isLaneEnd = event.tool === 'delegation' && event.worker !== undefined && event.state !== 'in_progress';
  if (isLaneEnd) return withLane(state, event.worker, (lane) => ({ ...lane, state: event.state === 'error' ? 'failed' : 'done' }));
  return withLane(state, event.worker, (lane) => ({ ...lane, activity: event.activity }));
}

function withLane(state: ProgressState, worker: number | undefined, change: (lane: Lane) => Lane): ProgressState {
  if (worker === undefined) return { ...state, supervisor: change(state.supervisor) };
  return { ...state, workers: new Map(state.workers).set(worker, change(state.workers.get(worker) ?? NEW_LANE)) };
}
