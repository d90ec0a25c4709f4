import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { QuaestorError, type AssistantId, type ConversationThreadId, type HostPolicy, type ResumeRunRequest, type RunId, type ScratchpadThreadId, type TenantId, type ToolCallId } from '#contracts';
import { replayTree, runAgent, type AgentDependencies, type AgentExit, type ReplayReport, type RunSignals } from '#agent';
import {
  ApiKeyRepository,
  CancelRepository,
  openDataSource,
  OpenWorkRepository,
  RunAcceptanceRepository,
  RunJournalRepository,
  RunResumptionRepository,
  RunRecordRepository,
  RunViewRepository,
  runOracles,
  ScratchpadWriteRepository,
  SourceRepository,
  Sql,
  type Row,
  type SqlValue,
} from '#database';
import { mintId, promptPolicy, sameModelForAll, type ClaimedRun, type IsolatedCall, type ModelPrice, type OutboxJob, type RunJournal, type RunTreeRecord, type SettledOutcome, type ToolCaller } from '#domain';
import { PLATFORM_TOOLS } from '#tools';
import { createTestDatabase, type TestDatabase } from '../test-services.ts';
import { FixturePages } from './fixture-pages.ts';
import { ScriptedModel, type ModelScript } from './scripted-model.ts';

const mint = <Id extends string>(prefix: string): Id => mintId<Id>(prefix, randomBytes(17));
const MICROCREDITS = 1_000_000;
const RECOVERY_PASSES_MAX = 4;

export interface AgentRunShape {
  /** Default: `What is a lease?` */
  question?: string;
  budgetCredits?: number;
  deadlineSeconds?: number;
  sourceCap?: number;
  workersMax?: number;
  supervisorTurns?: number;
  workerTurns?: number;
  hostPolicy?: HostPolicy;
}

/** The loop on a real, empty database; only the model and the web are played. Runs one process's part of the work, without queues. */
export class AgentWorld {
  readonly database: TestDatabase;
  readonly sql: Sql;
  readonly journal: RunJournal;
  readonly cancels: CancelRepository;
  readonly #close: () => Promise<void>;
  readonly #scratchpads: ScratchpadWriteRepository;

  static async open(): Promise<AgentWorld> {
    const database = await createTestDatabase();
    const dataSource = await openDataSource({ url: database.url, connectionLimit: 12 });
    return new AgentWorld(database, new Sql(dataSource), () => dataSource.destroy());
  }

  private constructor(database: TestDatabase, sql: Sql, close: () => Promise<void>) {
    this.database = database;
    this.sql = sql;
    this.#close = close;
    this.journal = new RunJournalRepository(sql, { owner: 'here', leaseTtlMs: 30_000, randomBytes: () => randomBytes(17) });
    this.cancels = new CancelRepository(sql);
    this.#scratchpads = new ScratchpadWriteRepository(sql);
  }

  async close(): Promise<void> {
    await this.#close();
    await this.database.drop();
  }

  /** A queued run of a tenant of its own. */
  async newRun(shape: AgentRunShape = {}): Promise<{ runId: RunId; tenantId: TenantId }> {
    const tenantId = mint<TenantId>('ten');
    const runId = mint<RunId>('run');
    const assistant = (role: 'supervisor' | 'worker', turnsMax: number) => ({
      id: mint<AssistantId>('asst'), role, name: role, instructions: '', turnsMax,
      capabilities: role === 'supervisor' ? (['scratchpad', 'delegation'] as const).slice() : (['web_search', 'scratchpad'] as const).slice(),
    });
    await new ApiKeyRepository(this.sql).ensureTenant({ id: tenantId, name: 'tenant', assistants: [assistant('supervisor', shape.supervisorTurns ?? 12), assistant('worker', shape.workerTurns ?? 8)] });
    await new RunAcceptanceRepository(this.sql).accept({
      tenantId, runId, threadId: mint<ConversationThreadId>('thr'), question: shape.question ?? 'What is a lease?',
      budgetMicrocredits: (shape.budgetCredits ?? 1_000) * MICROCREDITS, deadlineSeconds: shape.deadlineSeconds ?? 900,
      sourceCap: shape.sourceCap ?? 20, workersMax: shape.workersMax ?? 4, hostPolicy: shape.hostPolicy ?? null,
    });
    return { runId, tenantId };
  }

  /** The successor of a stopped run, queued. */
  async resume(tenantId: TenantId, runId: RunId, more: ResumeRunRequest): Promise<RunId> {
    const resumption = await new RunResumptionRepository(this.sql).resume(tenantId, runId, mint<RunId>('run'), more);
    if (!resumption) throw new Error(`there is no run ${runId}`);
    return resumption.runId;
  }

  /** The loop's surroundings around a script; `overrides` replace single parts. */
  dependencies(script: ModelScript, { price = SCRIPTED_PRICE, ...overrides }: DependencyOverrides = {}): PlayedDependencies {
    const model = new ScriptedModel(script);
    const web = new FixturePages();
    const jobs: OutboxJob[] = [];
    const deps: AgentDependencies = {
      journal: this.journal,
      models: sameModelForAll({ model, modelName: 'scripted', price, maxOutputTokens: 1_000 }),
      readTier: 0,
      prompts: promptPolicy({ tokensMax: 100_000, rawPageChars: 64_000 }),
      tools: PLATFORM_TOOLS,
      ports: { search: web, pages: web, sources: new SourceRepository(this.sql), scratchpad: this.#scratchpads, pageChars: 8_000, writeScratchpad: (caller) => this.#write(caller) },
      send: async (sent) => void jobs.push(...sent),
      touched: () => undefined,
      live: () => undefined,
      openWork: (rootRunId: RunId) => new OpenWorkRepository(this.sql).of(rootRunId),
      limitsMet: (rootRunId: RunId) => new RunViewRepository(this.sql, '').limitsMet(rootRunId),
      findings: async (tenantId: TenantId, threadId: ScratchpadThreadId) => (await this.#scratchpads.read(tenantId, threadId)).entries.filter(({ kind }) => kind === 'finding').map(({ text }) => text),
      observer: { attemptSettled: () => undefined, toolSettled: () => undefined, runEnded: () => undefined },
      nowMs: () => Date.now(),
      sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }).catch(() => undefined),
      random: () => 0,
      randomBytes: () => randomBytes(17),
      isolation: { execute: (call, signal) => executeInPlace(deps, call, signal) },
      ...overrides,
    };
    return { deps, model, web, jobs };
  }

  /** One claim of one run. */
  advance({ deps }: Pick<PlayedDependencies, 'deps'>, runId: RunId, signals: Partial<RunSignals> = {}): Promise<AgentExit | null> {
    const { abort = new AbortController().signal, drain = new AbortController().signal } = signals;
    return runAgent(deps, runId, () => ({ abort, drain }));
  }

  /**
   * Does all jobs of a root run until none is left, as the queues would: workers beside each other, each job once. `signalsOf` may hand out
   * signals for a claim; a claim that ends with an error is left to the caller as a finding of `failures`.
   */
  async drive(played: PlayedDependencies, rootRunId: RunId, signalsOf: (claimed: ClaimedRun) => Partial<RunSignals> = () => ({})): Promise<unknown[]> {
    const failures: unknown[] = [];
    const active = new Set<Promise<unknown>>();
    const begin = (runId: RunId): void => {
      const none = new AbortController().signal;
      const work: Promise<unknown> = runAgent(played.deps, runId, (claimed) => ({ abort: none, drain: none, ...signalsOf(claimed) }))
        .catch((error: unknown) => failures.push(error))
        .finally(() => active.delete(work));
      active.add(work);
    };
    begin(rootRunId);
    while (active.size > 0 || played.jobs.length > 0) {
      for (const job of played.jobs.splice(0)) {
        if (job.queue === 'runs') begin(job.payload['runId'] as RunId);
        else if (job.queue === 'delegations') begin(await this.workerOf(job.payload['toolCallId'] as ToolCallId));
      }
      if (active.size > 0) await Promise.race(active);
    }
    return failures;
  }

  /** After a death, in which jobs were lost too: every lease has lapsed, and whoever finds the runs drives them on, until the tree has ended. */
  async recover(played: PlayedDependencies, rootRunId: RunId): Promise<void> {
    played.jobs.length = 0;
    for (let pass = 0; pass < RECOVERY_PASSES_MAX; pass++) {
      await this.sql.change(`UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 MINUTE WHERE root_run_id = ? AND status = 'running'`, [rootRunId]);
      const living = await this.sql.rows('SELECT id FROM runs WHERE root_run_id = ? AND ended_at IS NULL ORDER BY run_no DESC', [rootRunId]);
      if (living.length === 0) return;
      for (const row of living) await this.drive(played, row['id'] as RunId);
    }
  }

  async workerOf(toolCallId: ToolCallId): Promise<RunId> {
    return this.one<RunId>('SELECT id FROM runs WHERE parent_tool_call_id = ?', [toolCallId]);
  }

  async #write({ toolCallId }: ToolCaller): ReturnType<AgentDependencies['ports']['writeScratchpad']> {
    const pending = await this.#scratchpads.pending(toolCallId);
    if (pending) {
      const given = JSON.parse(pending.arguments) as { note?: string; content?: string };
      await this.#scratchpads.settle(toolCallId, given.note === undefined ? { operation: 'update', content: given.content ?? '' } : { operation: 'append', text: given.note });
    }
    const result = await this.#scratchpads.resultOf(toolCallId);
    if (!result) throw new QuaestorError('INTERNAL_ERROR', `Note ${toolCallId} has no result.`);
    return result;
  }

  rows(sql: string, values: SqlValue[] = []): Promise<Row[]> {
    return this.sql.rows(sql, values);
  }

  async one<Value>(sql: string, values: SqlValue[] = []): Promise<Value> {
    const row = (await this.sql.rows(sql, values))[0];
    return (row ? Object.values(row)[0] : undefined) as Value;
  }

  async run(runId: RunId): Promise<Row> {
    return (await this.sql.rows('SELECT * FROM runs WHERE id = ?', [runId]))[0]!;
  }

  workers(rootRunId: RunId): Promise<Row[]> {
    return this.sql.rows('SELECT * FROM runs WHERE parent_run_id = ? ORDER BY worker_number', [rootRunId]);
  }

  calls(runId: RunId): Promise<Row[]> {
    return this.sql.rows('SELECT * FROM tool_calls WHERE run_id = ? ORDER BY turn, call_index', [runId]);
  }

  attempts(runId: RunId): Promise<Row[]> {
    return this.sql.rows('SELECT turn, attempt, kind, outcome, error_code FROM attempts WHERE run_id = ? ORDER BY turn, attempt', [runId]);
  }

  record(rootRunId: RunId): Promise<RunTreeRecord> {
    return new RunRecordRepository(this.sql).read(rootRunId, null);
  }

  replay(record: RunTreeRecord): Promise<ReplayReport> {
    return replayTree(record, PLATFORM_TOOLS);
  }

  /** Every run of this world but those whose rows a spec has changed, executed again from its record; the differences, one line each. */
  async replayDifferences({ except = [] }: { except?: RunId[] } = {}): Promise<string[]> {
    const differences: string[] = [];
    for (const row of await this.sql.rows('SELECT id FROM runs WHERE id = root_run_id')) {
      const runId = row['id'] as RunId;
      if (except.includes(runId)) continue;
      const { difference } = await this.replay(await this.record(runId));
      if (difference) differences.push(JSON.stringify(difference));
    }
    return differences;
  }

  /** Promises that the rows break, as `Q-nn title: samples`. */
  async brokenPromises(): Promise<string[]> {
    const reports = await runOracles(this.database.url, { atRest: true });
    return reports.filter(({ violations }) => violations > 0).map(({ invariant, title, sample }) => `${invariant} ${title}: ${sample.join(', ')}`);
  }
}

/** Replaces single parts of the loop's surroundings, or the price of its model. */
export type DependencyOverrides = Partial<AgentDependencies> & { price?: ModelPrice };

const SCRIPTED_PRICE: ModelPrice = { inputMicrocreditsPer1000: 250_000, outputMicrocreditsPer1000: 1_000_000 };

/** A script at work: its model, its web, and the jobs that were sent and not done yet. */
export interface PlayedDependencies {
  deps: AgentDependencies;
  model: ScriptedModel;
  web: FixturePages;
  jobs: OutboxJob[];
}

/** A suspected call in this very process; the real isolation has specs of its own. */
async function executeInPlace({ tools, ports }: AgentDependencies, { tool, args, caller }: IsolatedCall, signal: AbortSignal): Promise<SettledOutcome> {
  const outcome = await tools.find(({ name }) => name === tool)?.execute(args, caller, ports, signal);
  if (outcome?.kind !== 'settled') throw new QuaestorError('TOOL_UNKNOWN', `There is no tool ${tool} to be executed here.`);
  return outcome;
}
