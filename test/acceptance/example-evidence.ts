import type { EventEnvelope, RunId, RunView } from '#contracts';
import type { Evidence, MessageRow, RunRow, ToolCallRow } from './evidence.ts';

/** Hand-made evidence of both stories as a good engine leaves it; specs break one fact at a time. */
export const MARKERS = { seed: 'a'.repeat(16), marker: 'b'.repeat(16) };
export const PARTIAL_TEXT = `PARTIAL-${'c'.repeat(16)}`;

const SEED = `SEED-${MARKERS.seed}`;
const MARKER = `MARKER-${MARKERS.marker}`;
const ACK = `ACK-${MARKERS.marker}`;
const RUN_ID = `run_${'0'.repeat(26)}` as RunId;
const AT = '2026-01-01T00:00:00.000Z';

type Body = Record<string, unknown> & { type: string };

function numbered(bodies: Body[]): EventEnvelope[] {
  let seq = 0;
  return bodies.map((body) => ({ ...body, run_id: RUN_ID, at: AT, ...(body.type === 'content' ? {} : { seq: ++seq }) }) as unknown as EventEnvelope);
}

const research = (worker: number, state: string): Body => ({ type: 'research_status', activity: 'work', tool: 'delegation', state, worker });
const scratchpad = (operation: 'read' | 'append', text: string, worker?: number): Body => ({
  type: 'scratchpad_status',
  operation,
  state: 'success',
  origin: worker === undefined ? 'supervisor' : 'research_worker',
  ...(operation === 'read' ? { content: text } : { entry: text }),
  ...(worker === undefined ? {} : { worker }),
});
const settlement: Body = { type: 'settlement', role: 'supervisor', turn: 1, attempt: 1, outcome: 'completed' };
const content = (text: string, turn: number): Body => ({ type: 'content', content: text, attempt: 1, turn });
const ended = (status: string): Body => ({ type: 'run_status', status, stop_reason: 'answered' });

const sharedEvents = (): EventEnvelope[] =>
  numbered([
    { type: 'run_status', status: 'running' },
    content('First.', 1),
    settlement,
    scratchpad('append', SEED),
    research(1, 'in_progress'),
    scratchpad('read', SEED, 1),
    scratchpad('append', MARKER, 1),
    research(1, 'completed'),
    scratchpad('read', `${SEED} ${MARKER}`),
    research(2, 'in_progress'),
    scratchpad('read', `${SEED} ${MARKER}`, 2),
    scratchpad('append', ACK, 2),
    research(2, 'completed'),
    scratchpad('read', `${SEED} ${MARKER} ${ACK}`),
    content('The report ', 6),
    content('of this run.', 6),
    ended('completed'),
  ]);

const run = (status: RunView['status'], report: string): RunView =>
  ({ id: RUN_ID, object: 'run', status, stop_reason: 'answered', report, limits_hit: [], last_error: null }) as unknown as RunView;

const runRow = (id: string, worker: number | null, status = 'completed'): RunRow => ({
  id,
  role: worker === null ? 'supervisor' : 'worker',
  worker,
  threadId: `thread-${id}`,
  scratchpadThreadId: 'thread-root',
  status,
  errorCode: status === 'failed' ? 'MODEL_STREAM_CUT' : null,
  hasFailedAt: status === 'failed',
});

const callRow = (id: string, runId: string, name: string, childRunId: string | null = null, status = 'succeeded'): ToolCallRow => ({
  id,
  runId,
  name,
  status,
  result: '{}',
  errorCode: status === 'failed' ? 'DELEGATION_FAILED' : null,
  childRunId,
});

const messageRow = (toolCallId: string, runId: string, isError = false): MessageRow => ({ threadId: `thread-${runId}`, runId, role: 'tool', toolCallId, isError, content: 'x' });

export function sharedEvidence(): Evidence {
  return {
    run: run('completed', 'The report of this run. [1]'),
    events: sharedEvents(),
    requests: ['POST /v1/runs', 'GET /v1/runs/x/events'],
    protocolProblems: 0,
    rows: {
      runs: [runRow('root', null), runRow('a', 1), runRow('b', 2)],
      toolCalls: [callRow('call-1', 'root', 'delegate_research_task', 'a'), callRow('call-2', 'a', 'append_scratchpad')],
      messages: [messageRow('call-1', 'root'), messageRow('call-2', 'a')],
      attempts: [{ runId: 'root', kind: 'message', outcome: 'completed' }],
      entries: [SEED, MARKER, ACK].map((text, index) => ({ threadId: 'thread-root', runId: ['root', 'a', 'b'][index]!, text })),
    },
  };
}

export function failureEvidence(): Evidence {
  const events = numbered([settlement, research(1, 'in_progress'), research(2, 'in_progress'), research(1, 'completed'), research(2, 'error'), content('Honest.', 3), ended('completed')]);
  return {
    run: run('completed', 'Honest.'),
    events,
    requests: ['POST /v1/runs'],
    protocolProblems: 0,
    rows: {
      runs: [runRow('root', null), runRow('a', 1), runRow('b', 2, 'failed')],
      toolCalls: [callRow('call-1', 'root', 'delegate_research_task', 'a'), callRow('call-2', 'root', 'delegate_research_task', 'b', 'failed')],
      messages: [messageRow('call-1', 'root'), messageRow('call-2', 'root', true)],
      attempts: [{ runId: 'b', kind: 'attempt', outcome: 'failed' }],
      entries: [],
    },
  };
}
