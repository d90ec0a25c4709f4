import {
  MICROCREDITS_PER_CREDIT,
  type FindingView,
  type LimitHit,
  type MessageView,
  type RunId,
  type RunStatus,
  type RunView,
  type ScratchpadView,
  type SourceView,
  type TenantId,
} from '#contracts';
import { renderResult } from '#domain';
import { readResult } from '../journal/claim.ts';
import { limitsOf } from '../journal/writes.ts';
import { rowsOf, type Row, type Sql, type SqlValue } from '../sql.ts';
import { CHAIN } from './chain.ts';
import { citationsBySource, type SourceCitation } from './citations.ts';
import { interruptedAnswerOf, toInterruptedView } from './interrupted-answer.ts';

export interface RunPage {
  limit: number;
  /** Runs older than this one. */
  after?: RunId;
  status?: RunStatus;
}

const MESSAGES_MAX = 1_000;
const ENTRIES_MAX = 5_000;
const SOURCES_MAX = 2_000;

const SELECT_RUN = `SELECT r.*, b.limit_microcredits, b.reserved_microcredits, b.spent_microcredits, b.overrun_microcredits, b.forecast_microcredits, NOW(3) AS now,
    (SELECT s.id FROM runs s WHERE s.resumed_from = r.id) AS resumed_by,
    (SELECT a.model FROM attempts a WHERE a.run_id = r.id ORDER BY a.turn DESC, a.attempt DESC LIMIT 1) AS used_model
  FROM runs r JOIN budgets b ON b.root_run_id = r.id
  WHERE r.tenant_id = ? AND r.root_run_id = r.id`;

/** Model calls, tokens, tool calls and workers of whole trees, one line per root. */
const SELECT_USAGE = `SELECT root_run_id, SUM(model_calls) AS model_calls, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
    SUM(tool_calls) AS tool_calls, SUM(workers) AS workers
  FROM (
    SELECT root_run_id, COUNT(*) AS model_calls, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens, 0 AS tool_calls, 0 AS workers
      FROM attempts WHERE root_run_id IN (?) GROUP BY root_run_id
    UNION ALL
    SELECT root_run_id, 0, 0, 0, COUNT(*), 0 FROM tool_calls WHERE root_run_id IN (?) GROUP BY root_run_id
    UNION ALL
    SELECT root_run_id, 0, 0, 0, 0, COUNT(*) FROM runs WHERE root_run_id IN (?) AND worker_number IS NOT NULL GROUP BY root_run_id
  ) parts GROUP BY root_run_id`;

/**
 * Root runs as clients see them. Every query carries the tenant: a run of somebody else, a worker's run and one that never was are all the
 * same null.
 */
export class RunViewRepository {
  readonly #sql: Sql;
  readonly #configuredModel: string;

  /** `configuredModel` is shown for runs that have not called a model yet. */
  constructor(sql: Sql, configuredModel: string) {
    this.#sql = sql;
    this.#configuredModel = configuredModel;
  }

  async find(tenantId: TenantId, runId: RunId): Promise<RunView | null> {
    const outcomes = await this.#sql.batch([
      { sql: `${SELECT_RUN} AND r.id = ?`, values: [tenantId, runId] },
      { sql: SELECT_USAGE, values: [runId, runId, runId] },
    ]);
    const run = rowsOf(outcomes, 0)[0];
    return run ? toRunView(run, rowsOf(outcomes, 1)[0], this.#configuredModel) : null;
  }

  /** One page, newest first, and whether older ones follow. Null when `after` names no run of this tenant. */
  async list(tenantId: TenantId, page: RunPage): Promise<{ runs: RunView[]; hasMore: boolean } | null> {
    const cursor = page.after === undefined ? undefined : await this.#runNo(tenantId, page.after);
    if (cursor === null) return null;
    const conditions: [string, SqlValue][] = [];
    if (page.status !== undefined) conditions.push(['r.status = ?', page.status]);
    if (cursor !== undefined) conditions.push(['r.run_no < ?', cursor]);
    const found = await this.#sql.rows(
      `${SELECT_RUN} AND r.role = 'supervisor' ${conditions.map(([text]) => `AND ${text}`).join(' ')} ORDER BY r.run_no DESC LIMIT ?`,
      [tenantId, ...conditions.map(([, value]) => value), page.limit + 1],
    );
    const rows = found.slice(0, page.limit);
    return { runs: await this.#withUsage(rows), hasMore: found.length > page.limit };
  }

  async #runNo(tenantId: TenantId, runId: RunId): Promise<string | null> {
    const rows = await this.#sql.rows('SELECT run_no FROM runs WHERE id = ? AND tenant_id = ? AND root_run_id = id', [runId, tenantId]);
    return rows[0] ? String(rows[0]['run_no']) : null;
  }

  async #withUsage(rows: Row[]): Promise<RunView[]> {
    if (rows.length === 0) return [];
    const ids = rows.map((row) => row['id'] as string);
    const usage = new Map((await this.#sql.rows(SELECT_USAGE, [ids, ids, ids])).map((row) => [row['root_run_id'] as string, row]));
    return rows.map((row) => toRunView(row, usage.get(row['id'] as string), this.#configuredModel));
  }

  /** The conversation of the root run, in order. Never empty for a run that exists: its question is the first message. */
  /** Limits that any run of the tree has met so far; a worker's refusals stand in its own row. For the engine: asks for no tenant. */
  async limitsMet(rootRunId: RunId): Promise<LimitHit[]> {
    const rows = await this.#sql.rows(`SELECT DISTINCT limits_hit FROM runs WHERE root_run_id = ? AND limits_hit <> ''`, [rootRunId]);
    return [...new Set(rows.flatMap((row) => limitsOf(row['limits_hit'] as string)))];
  }

  async messages(tenantId: TenantId, runId: RunId): Promise<MessageView[] | null> {
    const conversation = {
      sql: `${CHAIN} SELECT m.sequence_no, m.role, m.content, m.is_error, m.created_at, m.tool_call_id, c.result FROM runs r
        JOIN messages m ON m.thread_id = r.thread_id JOIN chain ON chain.id = m.run_id LEFT JOIN tool_calls c ON c.id = m.tool_call_id
        WHERE r.id = ? AND r.tenant_id = ? AND r.root_run_id = r.id ORDER BY m.sequence_no LIMIT ?`,
      values: [runId, runId, tenantId, MESSAGES_MAX],
    };
    const outcomes = await this.#sql.batch([conversation, interruptedAnswerOf(tenantId, runId)]);
    const views = rowsOf(outcomes, 0).map(toMessageView);
    const [cut] = rowsOf(outcomes, 1);
    const last = views.at(-1);
    if (!last) return null;
    const interrupted = cut ? await toInterruptedView(cut, last.sequence_no) : null;
    return interrupted ? [...views, interrupted] : views;
  }

  async scratchpad(tenantId: TenantId, runId: RunId): Promise<ScratchpadView | null> {
    const outcomes = await this.#sql.batch([
      {
        sql: `SELECT s.body, s.revision FROM runs r JOIN scratchpads s ON s.thread_id = r.scratchpad_thread_id
          WHERE r.id = ? AND r.tenant_id = ? AND r.root_run_id = r.id`,
        values: [runId, tenantId],
      },
      {
        sql: `SELECT e.sequence_no, e.author, e.text, e.created_at FROM runs r JOIN scratchpad_entries e ON e.thread_id = r.scratchpad_thread_id
          WHERE r.id = ? AND r.tenant_id = ? AND r.root_run_id = r.id ORDER BY e.sequence_no LIMIT ?`,
        values: [runId, tenantId, ENTRIES_MAX],
      },
    ]);
    const pad = rowsOf(outcomes, 0)[0];
    if (!pad) return null;
    return { object: 'scratchpad', body: pad['body'] as string, revision: pad['revision'] as number, entries: rowsOf(outcomes, 1).map(toFindingView) };
  }

  /** What the run has read, in order of reading, with the quotes its report takes from each. */
  async sources(tenantId: TenantId, runId: RunId): Promise<SourceView[] | null> {
    const outcomes = await this.#sql.batch([
      { sql: 'SELECT citations FROM runs WHERE id = ? AND tenant_id = ? AND root_run_id = id', values: [runId, tenantId] },
      {
        sql: `${CHAIN} SELECT s.id, url, final_url, title, media_type, body_sha256, claim_review, fetched_at FROM chain
          JOIN sources s ON s.root_run_id = chain.id WHERE s.tenant_id = ? ORDER BY source_no LIMIT ?`,
        values: [runId, tenantId, SOURCES_MAX],
      },
    ]);
    const run = rowsOf(outcomes, 0)[0];
    if (!run) return null;
    const citations = citationsBySource(run['citations'] as string | null);
    return rowsOf(outcomes, 1).map((row) => toSourceView(row, citations.get(row['id'] as string)));
  }
}

/** The column holds words joined by commas. */

const credits = (microcredits: unknown): number => Number(microcredits) / MICROCREDITS_PER_CREDIT;
const isoOrNull = (value: unknown): string | null => (value instanceof Date ? value.toISOString() : null);
const iso = (value: unknown): string => (value as Date).toISOString();
const count = (value: unknown): number => Number(value ?? 0);

function toRunView(row: Row, usage: Row | undefined, configuredModel: string): RunView {
  return {
    id: row['id'] as RunId,
    object: 'run',
    status: row['status'] as RunView['status'],
    stop_reason: row['stop_reason'] as RunView['stop_reason'],
    limits_hit: limitsOf(row['limits_hit'] as string),
    forked_from: row['forked_from'] === null ? null : { run_id: row['forked_from'] as RunId, turn: row['forked_turn'] as number },
    question: row['question'] as string,
    report: row['report'] as string | null,
    model: (row['used_model'] as string | null) ?? configuredModel,
    resumed_from: row['resumed_from'] as RunId | null,
    resumed_by: row['resumed_by'] as RunId | null,
    last_error: row['last_error_code'] === null ? null : { code: row['last_error_code'] as string, message: (row['last_error_message'] as string | null) ?? '' },
    budget: toBudgetView(row),
    cost: null,
    usage: toUsageView(usage),
    created_at: iso(row['created_at']),
    started_at: isoOrNull(row['started_at']),
    ended_at: isoOrNull(row['ended_at']),
    deadline_at: iso(row['deadline_at']),
    cancel_requested_at: isoOrNull(row['cancel_requested_at']),
    elapsed_ms: elapsedMs(row),
    warnings: [],
  };
}

function toBudgetView(row: Row): RunView['budget'] {
  const left = BigInt(row['limit_microcredits'] as string) - BigInt(row['reserved_microcredits'] as string) - BigInt(row['spent_microcredits'] as string);
  return {
    limit: credits(row['limit_microcredits']),
    reserved: credits(row['reserved_microcredits']),
    spent: credits(row['spent_microcredits']),
    left: credits(left),
    overruns: credits(row['overrun_microcredits']),
    forecast: Number(row['forecast_microcredits']) === 0 ? null : credits(row['forecast_microcredits']),
  };
}

const toUsageView = (usage: Row | undefined): RunView['usage'] => ({
  model_calls: count(usage?.['model_calls']),
  input_tokens: count(usage?.['input_tokens']),
  output_tokens: count(usage?.['output_tokens']),
  tool_calls: count(usage?.['tool_calls']),
  workers: count(usage?.['workers']),
});

/** Milliseconds of work: from the start to the end or to now. Null before the start. */
function elapsedMs(row: Row): number | null {
  const started = row['started_at'] as Date | null;
  if (started === null) return null;
  return ((row['ended_at'] ?? row['now']) as Date).getTime() - started.getTime();
}

/** What a tool answered, as people may read it: an error shows its code only, because its words name tools. */
function shownResult(row: Row): string {
  const result = readResult(row['tool_call_id'] as string, row['result'] as string | null);
  if (result === null) return '';
  return result.kind === 'text' || result.kind === 'delegation' ? renderResult(result) : result.kind === 'error' ? result.code : '';
}

const toMessageView = (row: Row): MessageView => ({
  sequence_no: String(row['sequence_no']) as MessageView['sequence_no'],
  role: row['role'] as MessageView['role'],
  content: row['role'] === 'tool' ? shownResult(row) : (row['content'] as string),
  is_error: Boolean(row['is_error']),
  created_at: iso(row['created_at']),
});

const toFindingView = (row: Row): FindingView => ({
  sequence_no: String(row['sequence_no']) as FindingView['sequence_no'],
  author: row['author'] === 'supervisor' ? 'supervisor' : 'research_worker',
  text: row['text'] as string,
  created_at: iso(row['created_at']),
});

const toSourceView = (row: Row, citation: SourceCitation | undefined): SourceView => ({
  id: row['id'] as SourceView['id'],
  object: 'source',
  url: row['url'] as string,
  final_url: row['final_url'] as string,
  title: row['title'] as string,
  media_type: row['media_type'] as string,
  body_sha256: row['body_sha256'] as string,
  fetched_at: iso(row['fetched_at']),
  claim_review: row['claim_review'] as string,
  citation_number: citation?.number ?? null,
  citations: citation?.quotes ?? [],
});
