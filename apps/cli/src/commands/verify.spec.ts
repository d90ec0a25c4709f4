import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#testing';
import { openDataSource } from '#database';
import type { CommandContext } from '../context.ts';
import { verify } from './verify.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

async function run(options: { json?: boolean } = {}): Promise<{ exitCode: number; lines: string[] }> {
  const lines: string[] = [];
  const terminal = { print: async (text: string) => void lines.push(text), note: () => undefined };
  const context = { config: {}, terminal, log: () => undefined } as unknown as CommandContext;
  return { exitCode: await verify(context, { database: database.url, ...options }), lines };
}

it('prints one line for each promise and succeeds on a sound database', async () => {
  const { exitCode, lines } = await run();
  expect(exitCode).toBe(0);
  expect(lines.length).toBeGreaterThan(40);
  for (const line of lines) expect(line).toMatch(/^ok Q-\d\d .+ \(\d+ rows\)$/);
});

it('names the broken promise and fails', async () => {
  const dataSource = await openDataSource({ url: database.url, connectionLimit: 1 });
  await dataSource.query(`INSERT INTO idempotency_keys (tenant_id, key_sha256, body_sha256, run_id, created_at) VALUES ('t', REPEAT('a', 64), REPEAT('b', 64), 'run_gone', NOW(3))`);
  await dataSource.destroy();
  const { exitCode, lines } = await run();
  expect(exitCode).toBe(1);
  expect(lines.filter((line) => line.startsWith('BROKEN'))).toEqual(['BROKEN Q-25 an idempotency key names a run of its own tenant: 1 of 1 rows, such as run_gone']);
  const json = await run({ json: true });
  expect(json.exitCode).toBe(1);
  expect(JSON.parse(json.lines[0]!)).toMatchObject({ ok: false, databases: [{ reports: expect.any(Array) }] });
});
