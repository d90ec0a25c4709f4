import { EVENTS, isTerminal, RunStatus, type EventEnvelope } from '#contracts';
import type { Evidence, RunRow } from './evidence.ts';
import { firstMissingStep, type Markers } from './seven-evidence.ts';

/** Why a line is red, or null when it is green. */
export type Verdict = string | null;

/** The first reason wins. */
const firstReason = (...checks: [isWrong: boolean, reason: string][]): Verdict => checks.find(([isWrong]) => isWrong)?.[1] ?? null;

const KNOWN_TYPES = new Set<string>([...Object.keys(EVENTS.durable), ...Object.keys(EVENTS.transient)]);
/** Members by which a tool call would ask a client to act. */
const TOOL_REQUEST_MEMBERS = ['tool_calls', 'tool_call_id', 'arguments', 'args', 'action_id', 'required_action'];

const ofType = <Type extends EventEnvelope['type']>(events: readonly EventEnvelope[], type: Type): Extract<EventEnvelope, { type: Type }>[] =>
  events.filter((event): event is Extract<EventEnvelope, { type: Type }> => event.type === type);

/** Text that reached the client as it was made, each attempt settled once, and the stream ended with the run. */
export function judgeInferenceStream({ run, events, rows }: Evidence): Verdict {
  const content = ofType(events, 'content');
  const settlements = ofType(events, 'settlement');
  const lastTurn = Math.max(...content.map((event) => event.turn));
  const streamedReport = content.filter((event) => event.turn === lastTurn).map((event) => event.content).join('');
  const seqs = events.flatMap((event) => (event.seq === undefined ? [] : [event.seq]));
  return firstReason(
    [content.length === 0, 'no content event was streamed'],
    [run.report === null || run.report === '', 'the run has no report'],
    [!sharesOpening(streamedReport, run.report ?? ''), 'the streamed text of the last turn is not the report'],
    [settlements.length !== rows.attempts.length, `${rows.attempts.length} attempts were made but ${settlements.length} settlements announced`],
    [seqs.some((seq, index) => seq !== index + 1), 'the numbers of the durable events are not dense from 1'],
    [!endsTerminal(events), 'the stream did not end with a terminal run_status'],
  );
}

const OPENING_CHARS = 24;

// citations are numbered after the stream, so only the opening of the report is the same text
const sharesOpening = (streamed: string, report: string): boolean => {
  const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const opening = plain(streamed).slice(0, OPENING_CHARS);
  return opening !== '' && plain(report).startsWith(opening);
};

function endsTerminal(events: readonly EventEnvelope[]): boolean {
  const last = events.at(-1);
  return last?.type === 'run_status' && isTerminal(last.status);
}

/** Every call has one result, in its caller's own thread; findings are in the root's scratchpad; nothing internal reached the client. */
export function judgeToolBoundary(evidence: Evidence): Verdict {
  const { events, rows, protocolProblems } = evidence;
  const runs = new Map(rows.runs.map((run) => [run.id, run]));
  const root = rows.runs.find((run) => run.role === 'supervisor');
  const toolMessages = rows.messages.filter((message) => message.role === 'tool');
  const results = (id: string) => toolMessages.filter((message) => message.toolCallId === id);
  const names = [...new Set(rows.toolCalls.map((call) => call.name))];
  const leaked = names.find((name) => events.some((event) => JSON.stringify({ ...event, content: '', entry: '' }).includes(name)));
  const isMisplaced = rows.messages.some((message) => message.threadId !== runs.get(message.runId)?.threadId);
  const open = rows.toolCalls.find((call) => call.status === 'open');
  const unpaired = rows.toolCalls.find((call) => results(call.id).length !== 1 && runs.get(call.runId)?.status !== 'failed');
  return firstReason(
    [root === undefined, 'there is no supervisor run'],
    [rows.toolCalls.length === 0, 'no tool call was made'],
    [open !== undefined, `the call ${open?.id} (${open?.name}) has no result`],
    [unpaired !== undefined, `the call ${unpaired?.id} (${unpaired?.name}) has not exactly one tool message`],
    [toolMessages.length > rows.toolCalls.length, 'there are tool messages without a call'],
    [isMisplaced, "a message stands in a thread that is not its run's own"],
    [rows.entries.some((entry) => entry.threadId !== root?.threadId), "a finding stands outside the root run's scratchpad"],
    [leaked !== undefined, `the internal tool name ${leaked} reached the client`],
    [protocolProblems > 0, `the model refused ${protocolProblems} requests that broke the protocol`],
  );
}

/** The seven proofs, by events, and the three notes behind them, by rows. */
export function judgeSharedScratchpad({ events, rows }: Evidence, markers: Markers): Verdict {
  const missing = firstMissingStep(events, markers);
  if (missing !== null) return `not proven: ${missing}`;
  const authors = [`SEED-${markers.seed}`, `MARKER-${markers.marker}`, `ACK-${markers.marker}`].map((text) => rows.entries.find((entry) => entry.text.includes(text)));
  return firstReason(
    [authors.includes(undefined), 'a note is missing from the table'],
    [new Set(authors.map((entry) => entry?.runId)).size !== 3, 'the notes do not come from three runs'],
    [new Set(authors.map((entry) => entry?.threadId)).size !== 1, 'the notes are not in one scratchpad'],
  );
}

/** The whole story: it ended well, nothing failed on the way, every delegation was closed. `others` are the lines it depends on. */
export function judgeIntegration({ run, events }: Evidence, others: readonly Verdict[]): Verdict {
  const research = ofType(events, 'research_status');
  return firstReason(
    [run.status !== 'completed', `the run ended ${run.status} (${run.stop_reason ?? 'no reason'})`],
    [ofType(events, 'error').length > 0, 'an error event was sent'],
    [research.some((event) => event.state === 'error'), 'a delegation failed'],
    [ofType(events, 'scratchpad_status').some((event) => event.state === 'error'), 'a scratchpad operation failed'],
    [ofType(events, 'web_status').some((event) => event.status === 'error'), 'a web request failed'],
    [research.length === 0, 'no research_status event was sent'],
    [openDelegations(events).size > 0, 'the stream ended with an open delegation'],
    [others.some((verdict) => verdict !== null), 'another line is red'],
  );
}

function openDelegations(events: readonly EventEnvelope[]): Set<number> {
  const open = new Set<number>();
  for (const event of ofType(events, 'research_status')) {
    if (event.worker === undefined) continue;
    if (event.state === 'in_progress') open.add(event.worker);
    else open.delete(event.worker);
  }
  return open;
}

/** The failed worker is failed everywhere, its partial text is nowhere, and the run goes on without it. */
export function judgeWorkerFailure({ run, events, rows }: Evidence, partialText: string): Verdict {
  const failed = rows.runs.find((candidate) => candidate.worker === 2);
  const call = rows.toolCalls.find((candidate) => candidate.childRunId === failed?.id && failed !== undefined);
  const answer = rows.messages.find((message) => message.toolCallId === call?.id && call !== undefined);
  const other = rows.runs.find((candidate) => candidate.worker === 1);
  return firstReason(
    [failed === undefined, 'the second worker never ran'],
    [failed?.status !== 'failed', `the failed worker's run ended ${failed?.status}`],
    [!isErrorRecorded(failed), 'the failed run has no last_error or no failed_at'],
    [call?.status !== 'failed' || call.errorCode === null, `its delegation ended ${call?.status} instead of failed`],
    [answer?.isError !== true, 'the tool message of its delegation is not marked as an error'],
    [failedAttempts(rows, failed) === 0, 'no failed attempt of it is on record'],
    [holdsText({ run, events, rows }, partialText), 'its partial text was kept as if it were a result'],
    [!ofType(events, 'research_status').some((event) => event.worker === 2 && event.state === 'error'), 'no research_status error told the client'],
    [ofType(events, 'research_status').some((event) => event.worker === 2 && event.state === 'completed'), 'the client was told that it completed'],
    [other?.status !== 'completed', `the other worker ended ${other?.status}`],
    [run.status !== 'completed' && run.status !== 'incomplete', `the run ended ${run.status}`],
  );
}

const isErrorRecorded = (run: RunRow | undefined): boolean => run !== undefined && run.errorCode !== null && run.hasFailedAt;

const failedAttempts = (rows: Evidence['rows'], run: RunRow | undefined): number =>
  rows.attempts.filter((attempt) => attempt.runId === run?.id && attempt.kind === 'attempt' && attempt.outcome === 'failed').length;

const holdsText = ({ run, events, rows }: Pick<Evidence, 'run' | 'events' | 'rows'>, text: string): boolean =>
  [run.report, events, rows.messages, rows.toolCalls, rows.entries].some((part) => JSON.stringify(part).includes(text));

/** Whether any event asked the client to carry out a tool: an unknown type or status, or a member that only such a request has. */
export const isToolRequestSurfaced = ({ events, run }: Evidence): boolean =>
  !RunStatus.safeParse(run.status).success ||
  events.some((event) => !KNOWN_TYPES.has(event.type) || TOOL_REQUEST_MEMBERS.some((member) => member in event) || (event.type === 'run_status' && !RunStatus.safeParse(event.status).success));

/** Whether the client did anything but ask a question and read: then tools would have run on this side. */
export const isLocalExecutorUsed = ({ requests }: Evidence): boolean => requests.some((request) => !request.startsWith('GET ') && request !== 'POST /v1/runs');
