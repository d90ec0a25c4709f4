import type { RunId, TenantId } from '#contracts';
import { ApiKeyRepository, openDataSource, Sql } from '#database';
import { mintId } from '#domain';
import { createLogger, loadConfig } from '#platform';
import { createTestDatabase } from '#testing';
import { randomBytes } from 'node:crypto';
import { sha256Hex, shownPrefix } from '../auth/api-key.ts';
import { shippedAssistants } from '../auth/shipped-assistants.ts';
import { gatewayConfig } from '../config.ts';
import { startGateway, type Gateway } from '../gateway.ts';

export const KEY = `qk_${'a'.repeat(43)}`;
export const FOREIGN_KEY = `qk_${'b'.repeat(43)}`;
export const ADMIN_KEY = 'an-admin-key-of-tests';

/** A gateway on its own database, for specs. */
export interface TestGateway {
  gateway: Gateway;
  sql: Sql;
  baseUrl: string;
  databaseUrl: string;
  /** A request with a key; the second tenant's with `key: FOREIGN_KEY`. */
  request(method: string, path: string, options?: RequestOptions): Promise<Response>;
  createRun(question?: string): Promise<RunId>;
  /** Appends events to a run as the services do: number from the run row, same transaction. */
  appendEvents(runId: RunId, bodies: object[]): Promise<void>;
  stop(): Promise<void>;
}

export interface RequestOptions {
  key?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export async function startTestGateway(settings: Record<string, string> = {}): Promise<TestGateway> {
  const database = await createTestDatabase();
  const config = loadConfig(gatewayConfig, {
    DATABASE_URL: database.url,
    REDIS_URL: database.redisUrl,
    GATEWAY_PORT: '0',
    BOOTSTRAP_API_KEY: KEY,
    ADMIN_KEY,
    LOG_LEVEL: 'silent',
    ...settings,
  });
  const gateway = await startGateway(config, createLogger({ service: 'gateway', level: 'silent' }));
  const dataSource = await openDataSource({ url: database.url, connectionLimit: 2 });
  const sql = new Sql(dataSource);
  await addForeignTenant(sql);
  const baseUrl = `http://127.0.0.1:${gateway.port}`;
  const request = requester(baseUrl);
  return {
    gateway,
    sql,
    baseUrl,
    databaseUrl: database.url,
    request,
    createRun: async (question = 'What is a lease?') => ((await (await request('POST', '/v1/runs', { body: { question } })).json()) as { id: RunId }).id,
    appendEvents: (runId, bodies) => appendEvents(sql, runId, bodies),
    stop: async () => {
      await gateway.stop();
      await dataSource.destroy();
      await database.drop();
    },
  };
}

const requester =
  (baseUrl: string) =>
  (method: string, path: string, { key = KEY, body, headers, signal }: RequestOptions = {}): Promise<Response> =>
    fetch(baseUrl + path, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });

async function addForeignTenant(sql: Sql): Promise<void> {
  await new ApiKeyRepository(sql).ensureTenant({
    id: mintId<TenantId>('ten', randomBytes(17)),
    name: 'foreign',
    assistants: shippedAssistants({ RESEARCH_SUPERVISOR_MAX_TURNS: 12, RESEARCH_WORKER_MAX_TURNS: 8 }),
    apiKey: { id: mintId('key', randomBytes(17)), sha256: sha256Hex(FOREIGN_KEY), shownPrefix: shownPrefix(FOREIGN_KEY) },
  });
}

async function appendEvents(sql: Sql, runId: RunId, bodies: object[]): Promise<void> {
  await sql.transaction([{ sql: 'SELECT event_seq, tenant_id FROM runs WHERE id = ? FOR UPDATE', values: [runId] }], async (tx, opened) => {
    const run = (opened[0] as Record<string, unknown>[])[0] as { event_seq: number; tenant_id: string };
    const rows = bodies.map((body, index) => [runId, run.event_seq + index + 1, run.tenant_id, (body as { type: string }).type, JSON.stringify(body), new Date()]);
    await tx.batchAndCommit([
      { sql: 'INSERT INTO run_events (root_run_id, seq, tenant_id, type, body, created_at) VALUES ?', values: [rows] },
      { sql: 'UPDATE runs SET event_seq = event_seq + ? WHERE id = ?', values: [bodies.length, runId] },
    ]);
  });
}

/** Ends a run in the database, with the event that says so. */
export async function endRun(test: TestGateway, runId: RunId): Promise<void> {
  await test.sql.change("UPDATE runs SET status = 'completed', stop_reason = 'answered', ended_at = NOW(3), active_thread_id = NULL WHERE id = ?", [runId]);
  await test.appendEvents(runId, [{ type: 'run_status', status: 'completed', stop_reason: 'answered' }]);
}

/** Names of channels and streams hold it. */
export const incarnationOf = async ({ sql }: TestGateway): Promise<string> => (await sql.rows("SELECT value FROM meta WHERE name = 'incarnation'"))[0]?.['value'] as string;
