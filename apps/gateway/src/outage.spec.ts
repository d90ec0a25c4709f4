import { RunView } from '#contracts';
import { migrateDatabase } from '#database';
import { createLogger, loadConfig, startLocalServices, type LocalServices } from '#platform';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewayConfig } from './config.ts';
import { startGateway, type Gateway } from './gateway.ts';
import { KEY } from './spec-support/test-gateway.ts';

let directory: string;
let services: LocalServices;
let gateway: Gateway;

const start = (): Promise<LocalServices> => startLocalServices({ directory, env: { PATH: process.env['PATH'] } });
const pidOf = (name: 'redis' | 'database'): number =>
  (JSON.parse(readFileSync(path.join(directory, 'services.json'), 'utf8')) as Record<string, { process: { pid: number } }>)[name]?.process.pid ?? 0;
const configOf = (more: Record<string, string> = {}) =>
  loadConfig(gatewayConfig, { DATABASE_URL: services.databaseUrl, REDIS_URL: services.redisUrl, GATEWAY_PORT: '0', BOOTSTRAP_API_KEY: KEY, ...more });
const logger = createLogger({ service: 'gateway', level: 'silent' });

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'gateway-outage-'));
  services = await start();
  await migrateDatabase(services.databaseUrl);
  gateway = await startGateway(configOf(), logger);
}, 120_000);
afterAll(async () => {
  await gateway.stop();
  await services.stop();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

const api = (method: string, route: string, body?: object): Promise<Response> =>
  fetch(`http://127.0.0.1:${gateway.port}${route}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

const unavailable = async (response: Response): Promise<void> => {
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
};

async function scrape(): Promise<{ status: number; jobs: number; runs: number }> {
  const response = await api('GET', '/metrics');
  const text = await response.text();
  const count = (series: RegExp): number => text.match(series)?.length ?? 0;
  return { status: response.status, jobs: count(/^quaestor_jobs\{/gm), runs: count(/^quaestor_runs\{/gm) };
}

/** A scrape goes on without the store that is away, and does not wait for it. What was read a moment ago may still be shown. */
async function showsOnly(left: 'jobs' | 'runs'): Promise<void> {
  await expect.poll(scrape, { timeout: 10_000 }).toEqual({ status: 200, jobs: left === 'jobs' ? 12 : 0, runs: left === 'runs' ? 3 : 0 });
  const startedMs = performance.now();
  expect((await scrape()).status).toBe(200);
  expect(performance.now() - startedMs).toBeLessThan(2_000);
}

// in this order: each leaves the gateway running for the next
describe('while something is away', () => {
  it('refuses a second gateway on its port', async () => {
    await expect(startGateway(configOf({ GATEWAY_PORT: String(gateway.port) }), logger)).rejects.toMatchObject({ code: 'PORT_IN_USE' });
  });

  it('[Q-25] accepts runs without Redis, and keeps the job', async () => {
    process.kill(pidOf('redis'), 'SIGKILL');
    await expect.poll(async () => (await (await api('GET', '/readyz')).json()) as unknown).toEqual({ status: 'not_ready', failing: ['redis'] });
    const response = await api('POST', '/v1/runs', { question: 'without Redis?' });
    expect(response.status).toBe(202);
    const run = RunView.parse(await response.json());
    await showsOnly('runs');
    await start();
    await expect.poll(async () => (await api('GET', '/readyz')).status, { timeout: 10_000 }).toBe(200);
    await expect.poll(scrape, { timeout: 10_000 }).toEqual({ status: 200, jobs: 12, runs: 3 });
    expect((await api('GET', `/v1/runs/${run.id}`)).status).toBe(200);
  });

  it('answers 503 while the database hangs, instead of waiting with it', async () => {
    process.kill(pidOf('database'), 'SIGSTOP');
    try {
      const started = performance.now();
      expect(((await (await api('GET', '/readyz')).json()) as { failing: string[] }).failing).toEqual(['database']);
      expect(performance.now() - started).toBeLessThan(2_000);
      await unavailable(await api('POST', '/v1/runs', { question: 'hanging?' }));
      await showsOnly('jobs');
      expect((await api('GET', '/healthz')).status).toBe(200);
    } finally {
      process.kill(pidOf('database'), 'SIGCONT');
    }
    await expect.poll(async () => (await api('GET', '/v1/runs')).status, { timeout: 10_000 }).toBe(200);
  });

  it('answers 503 without a database, keeps streams open, and goes on when it is back', async () => {
    const { id } = (await (await api('POST', '/v1/runs', { question: 'still there?' })).json()) as { id: string };
    const stream = await api('GET', `/v1/runs/${id}/events`);
    process.kill(pidOf('database'), 'SIGKILL');
    await expect.poll(async () => (await api('GET', '/v1/runs')).status).toBe(503);
    await unavailable(await api('POST', '/v1/runs', { question: 'q' }));
    await start();
    await expect.poll(async () => (await api('GET', '/readyz')).status, { timeout: 20_000 }).toBe(200);
    expect((await api('POST', `/v1/runs/${id}/cancel`)).status).toBe(200);
    expect(await stream.text()).toMatch(/id: 1\n[^]*"status":"cancelled"/);
  }, 60_000);

  it('ends streams with a hint when it stops', async () => {
    const { id } = (await (await api('POST', '/v1/runs', { question: 'to the end' })).json()) as { id: string };
    const stream = await api('GET', `/v1/runs/${id}/events`);
    await expect.poll(() => gateway.hub.readerCount).toBe(1);
    const started = performance.now();
    await gateway.stop();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await stream.text()).toMatch(/retry: 500\n\n$/);
  });
});
