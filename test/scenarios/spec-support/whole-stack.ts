import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { ApiKeyId, AssistantId, Capability, CreateRunRequest, EventEnvelope, RunId, TenantId } from '#contracts';
import { createClient, type Client } from '#client';
import { ApiKeyRepository, openDataSource, runOracles, Sql, type Row } from '#database';
import { mintId } from '#domain';
import { createTestDatabase, startModelServer, testServicesDirectory, waitUntil, type ModelScript, type ModelServer, type RunRecord, type TestDatabase } from '#testing';
import { startStack, type ServiceName, type Stack } from '../../../apps/cli/src/stack/index.ts';

const RUN_TIMEOUT_MS = 60_000;
const mint = <Id extends string>(prefix: string): Id => mintId<Id>(prefix, randomBytes(17));

export interface WholeStackOptions {
  scripts: readonly ModelScript[];
  env?: Record<string, string>;
  /** Hosts beside the model server's that pages may be read from. */
  hosts?: readonly string[];
  /** Default: the Redis that all specs share. */
  redisUrl?: string;
}

/** Whose run it is, and limits that differ. */
export interface AskOptions extends Partial<Omit<CreateRunRequest, 'question'>> {
  client?: Client;
}

/** A request as the model server kept it. */
export interface SeenRequest {
  run: string;
  worker: number;
  turn: number;
  target: string | null;
  startMs: number;
  /** Null while it is being answered. */
  endMs: number | null;
}

/** One run of a scenario: its id, its token on the model server, and every event once it has ended. */
export interface Played {
  id: RunId;
  token: string;
  events: Promise<EventEnvelope[]>;
}

/** A real stack on a database of its own, with a scripted model and web, and ways to look behind it. */
export class WholeStack {
  readonly database: TestDatabase;
  readonly model: ModelServer;
  readonly sql: Sql;
  readonly stack: Stack;
  readonly client: Client;
  readonly #env: Record<string, string>;
  readonly #cleanups: (() => unknown)[];
  #stacks = 0;

  static async open({ scripts, env = {}, hosts = [], redisUrl }: WholeStackOptions): Promise<WholeStack> {
    const cleanups: (() => unknown)[] = [];
    const created = await createTestDatabase();
    const database = { ...created, redisUrl: redisUrl ?? created.redisUrl };
    cleanups.push(() => database.drop());
    const model = await startModelServer({ scripts, defaultScript: scripts[0]!, keepsRequests: true });
    cleanups.push(() => model.close());
    const all = {
      MODEL_BASE_URL: `${model.url}/v1`, MODEL_API_KEY: 'scripted', MODEL_NAME: 'scripted', SEARCH_PROVIDER: 'searxng', SEARXNG_URL: model.url,
      WEB_ALLOW_PRIVATE_HOSTS: [new URL(model.url).host, ...hosts].join(','), ...env,
    };
    const dataSource = await openDataSource({ url: database.url, connectionLimit: 2 });
    cleanups.push(() => dataSource.destroy());
    const stack = await startOne(database, all, cleanups, 'main');
    return new WholeStack({ database, model, sql: new Sql(dataSource), stack, env: all, cleanups });
  }

  private constructor(parts: { database: TestDatabase; model: ModelServer; sql: Sql; stack: Stack; env: Record<string, string>; cleanups: (() => unknown)[] }) {
    this.database = parts.database;
    this.model = parts.model;
    this.sql = parts.sql;
    this.stack = parts.stack;
    this.client = createClient({ baseUrl: parts.stack.url, apiKey: parts.stack.apiKey });
    this.#env = parts.env;
    this.#cleanups = parts.cleanups;
  }

  /** More processes of these services, on the same stores. */
  startMore(services: ServiceName[], env: Record<string, string> = {}): Promise<Stack> {
    return startOne(this.database, { ...this.#env, ...env }, this.#cleanups, `more-${++this.#stacks}`, services);
  }

  async ask(script: string, token: string, { client = this.client, ...limits }: AskOptions = {}): Promise<Played> {
    const { id } = await client.createRun({ question: `Scenario ${token}: what is known? ${script} run.${token}`, budget_credits: 10_000, ...limits });
    return { id, token, events: collect(client, id) };
  }

  /** A client of a tenant of its own. */
  async otherTenant(): Promise<Client> {
    const key = `qk_${randomBytes(24).toString('hex')}`;
    const assistant = (role: 'supervisor' | 'worker', capabilities: Capability[]) => ({ id: mint<AssistantId>('asst'), role, name: role, instructions: '', capabilities, turnsMax: 8 });
    await new ApiKeyRepository(this.sql).ensureTenant({
      id: mint<TenantId>('ten'),
      name: 'other',
      assistants: [assistant('supervisor', ['scratchpad', 'delegation']), assistant('worker', ['web_search', 'scratchpad'])],
      apiKey: { id: mint<ApiKeyId>('key'), sha256: createHash('sha256').update(key).digest('hex'), shownPrefix: key.slice(0, 9) },
    });
    return createClient({ baseUrl: this.stack.url, apiKey: key });
  }

  record(token: string): RunRecord | undefined {
    return this.model.records.list().find(({ id }) => id === token);
  }

  /** Every request of a run in the order of its arrival; times are epoch milliseconds. */
  async requests(token: string): Promise<SeenRequest[]> {
    const answer = await fetch(`${this.model.url}/__requests?run=${token}`);
    return (await answer.json()) as SeenRequest[];
  }

  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    await waitUntil(condition, { what, timeoutMs: RUN_TIMEOUT_MS, intervalMs: 10 });
  }

  runs(rootRunId: RunId): Promise<Row[]> {
    return this.sql.rows('SELECT * FROM runs WHERE root_run_id = ? ORDER BY run_no', [rootRunId]);
  }

  /** Every row of the database but the heartbeats of processes, as text that can be compared. */
  async wholeDatabase(): Promise<Record<string, string[]>> {
    const tables = await this.sql.rows(`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name <> 'lease_owners'`);
    const contents: Record<string, string[]> = {};
    for (const { name } of tables) contents[name as string] = (await this.sql.rows(`SELECT * FROM \`${name}\``)).map((row) => JSON.stringify(row)).toSorted();
    return contents;
  }

  /** Promises that the rows break, and requests that a model vendor would have refused. */
  async problems(): Promise<string[]> {
    const broken = (await runOracles(this.database.url)).filter(({ violations }) => violations > 0).map(({ invariant, title, sample }) => `${invariant} ${title}: ${sample.join(', ')}`);
    return [...broken, ...this.model.records.list().flatMap(({ firstProblem }) => firstProblem ?? [])];
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
  }
}

async function startOne(database: TestDatabase, env: Record<string, string>, cleanups: (() => unknown)[], name: string, services?: ServiceName[]): Promise<Stack> {
  const directory = `${testServicesDirectory()}/scenario-${process.pid}-${name}`;
  const stack = await startStack({ directory, databaseUrl: database.url, redisUrl: database.redisUrl, env, ...(services ? { services } : {}) });
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }), () => stack.stop());
  return stack;
}

async function collect(client: Client, id: RunId): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  for await (const event of client.events(id, { signal: AbortSignal.timeout(RUN_TIMEOUT_MS) })) events.push(event);
  return events;
}
