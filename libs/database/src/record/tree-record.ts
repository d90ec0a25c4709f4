import { QuaestorError, type AssistantRole, type AttemptId, type AttemptOutcome, type RunId, type RunStatus, type SourceId, type StopReason, type ToolCallId } from '#contracts';
import type { CallRecord, RecordedAttempt, RecordedRun, RecordedSource, RunTreeRecord, ScratchpadContent } from '#domain';
import { decompressText } from '../compress.ts';
import { readCall, readCapabilities, readFolds, readMessage, readRun } from '../journal/claim.ts';
import type { Row } from '../sql.ts';
import { newestRoot, type TreeRows } from './tree-rows.ts';

/**
 * The rows of a tree as a record that can be executed again: its newest root run with its workers, and what they had of the runs before.
 * @throws QuaestorError `JOURNAL_INVALID` naming the row that cannot be read
 */
export async function treeRecordOf(rows: TreeRows): Promise<RunTreeRecord> {
  const root = newestRoot(rows);
  const runs: RecordedRun[] = [];
  for (const row of rows.runs.filter(({ root_run_id }) => root_run_id === root.id)) runs.push(await readRecordedRun(row, root, rows));
  const sources: RecordedSource[] = [];
  for (const row of rows.sources) sources.push(await readRecordedSource(row));
  return { runs, earlierCalls: earlierCalls(rows, root), sources, scratchpad: readScratchpad(root, rows) };
}

async function readRecordedRun(row: Row, root: Row, rows: TreeRows): Promise<RecordedRun> {
  const run = { ...readRun({ ...row, ms_left: 0, cancelled: 0, tree_host_policy: root.host_policy ?? null } as Row) };
  const assistant = rows.assistants.find(({ id }) => id === row.assistant_id);
  if (!assistant) throw new QuaestorError('JOURNAL_INVALID', `Run ${run.id} has no assistant.`);
  const ofRun = (candidate: Row): boolean => candidate.run_id === row.id;
  const messages = rows.messages.filter(({ thread_id }) => thread_id === row.thread_id);
  const closed = new Set(messages.filter(ofRun).map((message) => message.tool_call_id as string | null));
  const outcomes = new Map(rows.attempts.map((attempt) => [attempt.id as string, attempt.outcome as AttemptOutcome]));
  const attempts: RecordedAttempt[] = [];
  for (const attempt of rows.attempts.filter(ofRun)) attempts.push(await readAttempt(attempt));
  return {
    loaded: {
      run,
      assistant: { id: run.assistantId, role: row.role as AssistantRole, instructions: assistant.instructions as string, capabilities: readCapabilities(run.id as RunId, assistant.capabilities as string) },
      messages: messages.map((message) => readMessage({ ...message, truncated: outcomes.get(message.attempt_id as string) === 'truncated' ? 1 : 0 } as Row)),
      calls: [...inheritedCalls(row, root, rows), ...rows.tool_calls.filter(ofRun).map((call) => readCall({ ...call, reservation_id: null, closed: closed.has(call.id as string) ? 1 : 0 } as Row))],
      ledger: { limit: 0, reserved: 0, spent: 0, overrun: 0 },
      attemptsBegun: 0,
      attemptsFailed: 0,
      finishesBegun: 0,
      prompts: { folds: [], cut: 0, summary: null, counted: null, overflowTokens: null },
      finishReservation: null,
    },
    earlierMessages: messages.filter(({ run_id }) => run_id !== row.id).length,
    question: row.question as string,
    status: row.status as RunStatus,
    stopReason: row.stop_reason as StopReason | null,
    error: errorOf(row.last_error_code, row.last_error_message),
    report: row.report as string | null,
    citations: row.citations as string | null,
    attempts,
    effects: new Set(rows.reservations.filter(ofRun).map((reservation) => reservation.effect_key as string)),
    forkedTurn: Number(row.forked_turn ?? 0),
  };
}

const readEarlier = (call: Row): CallRecord => ({ ...readCall({ ...call, reservation_id: null, closed: 1 } as Row), inherited: true });

/** As a claimant was given them: all of the supervisor's, whose thread it goes on with; for a worker the searches that were paid for. */
function inheritedCalls(run: Row, root: Row, rows: TreeRows): CallRecord[] {
  const isWanted = (call: Row): boolean => (run.id === root.id ? call.run_id === call.root_run_id : call.status === 'succeeded' && call.name === 'perform_web_search');
  return rows.tool_calls.filter((call) => call.root_run_id !== root.id && isWanted(call)).toSorted(byTime).map(readEarlier);
}

const byTime = (left: Row, right: Row): number =>
  (left.created_at as Date).getTime() - (right.created_at as Date).getTime() || (left.turn as number) - (right.turn as number) || (left.call_index as number) - (right.call_index as number);

/** Whatever the runs before have called: of each its own calls first, then its workers'. */
const earlierCalls = ({ runs, tool_calls: calls }: TreeRows, root: Row): CallRecord[] =>
  runs.filter(({ root_run_id }) => root_run_id !== root.id).flatMap(({ id }) => calls.filter(({ run_id }) => run_id === id).map(readEarlier));

const errorOf = (code: unknown, message: unknown): { code: string; message: string } | null => (typeof code === 'string' ? { code, message: String(message) } : null);

const readAttempt = async (row: Row): Promise<RecordedAttempt> => ({
  id: row.id as AttemptId,
  turn: row.turn as number,
  attempt: row.attempt as number,
  kind: row.kind as RecordedAttempt['kind'],
  outcome: row.outcome as AttemptOutcome,
  error: errorOf(row.error_code, row.error_message),
  stream: row.stream === null ? null : await decompressText(row.stream as Buffer, `attempt ${row.id}`),
  usage: { inputTokens: Number(row.input_tokens), outputTokens: Number(row.output_tokens), estimated: Number(row.usage_estimated) === 1 },
  finishing: Number(row.finishing) === 1,
  rendererVersion: row.renderer_version as number,
  prompt: row.prompt_sha256 === null ? null : { sha256: row.prompt_sha256 as string, tokensMax: Number(row.prompt_tokens_max), pageChars: Number(row.page_chars), tokens: Number(row.prompt_tokens ?? 0), folds: readFolds(row.prompt_folds as string | null), cut: row.prompt_cut as number | null },
  summary: row.summary as string | null,
});

const readRecordedSource = async (row: Row): Promise<RecordedSource> => ({
  id: row.id as SourceId,
  url: row.url as string,
  finalUrl: row.final_url as string,
  title: row.title as string,
  mediaType: row.media_type as string,
  bodySha256: row.body_sha256 as string,
  text: await decompressText(row.body as Buffer, `source ${row.id}`),
  toolCallId: row.tool_call_id as ToolCallId,
  extraction: row.extraction as string,
  fetchedAt: (row.fetched_at as Date).toISOString(),
});

/** Notes of the tree as they stand at its end: the shared scratchpad belongs to the root run's thread. */
function readScratchpad(root: Row, rows: TreeRows): ScratchpadContent {
  const pad = rows.scratchpads.find(({ thread_id }) => thread_id === root.scratchpad_thread_id);
  return {
    body: (pad?.body as string | undefined) ?? '',
    revision: Number(pad?.revision ?? 0),
    entries: rows.scratchpad_entries.map((row) => ({
      sequenceNo: String(row.sequence_no),
      author: row.author as AssistantRole,
      worker: row.worker_number as number | null,
      kind: row.kind as 'note' | 'finding',
      text: row.text as string,
      createdAt: (row.created_at as Date).toISOString(),
    })),
  };
}
