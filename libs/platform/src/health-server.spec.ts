import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { startHealthServer, type HealthServer, type ReadinessCheck } from './health-server.ts';

let server: HealthServer | undefined;
afterEach(async () => server?.close());

async function start(checks: Record<string, ReadinessCheck>): Promise<(path: string) => Promise<Response>> {
  server = await startHealthServer({ port: 'any', checks, registry: new Registry() });
  return (path) => fetch(`http://127.0.0.1:${server?.port}${path}`);
}

describe('health server', () => {
  it('answers /healthz whatever the checks say', async () => {
    const get = await start({ database: () => Promise.reject(new Error('down')) });
    expect((await get('/healthz')).status).toBe(200);
  });

  it('is ready when every check passes', async () => {
    const get = await start({ database: async () => undefined, redis: async () => 'PONG' });
    expect(await (await get('/readyz')).json()).toEqual({ status: 'ready', failing: [] });
  });

  it('names the checks that fail, throw or do not answer within a second', async () => {
    const get = await start({
      fine: async () => undefined,
      down: () => Promise.reject(new Error('refused')),
      broken: () => {
        throw new Error('at once');
      },
      silent: () => new Promise(() => undefined),
    });
    const startedAtMs = performance.now();
    const response = await get('/readyz');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: 'not_ready', failing: ['down', 'broken', 'silent'] });
    expect(performance.now() - startedAtMs).toBeLessThan(3_000);
  });

  it('is not ready while draining', async () => {
    const get = await start({});
    server?.drain();
    expect(await (await get('/readyz')).json()).toEqual({ status: 'not_ready', failing: ['draining'] });
  });

  it('prints metrics and refuses other paths', async () => {
    const get = await start({});
    expect(await (await get('/metrics')).text()).toContain('process_cpu_seconds_total');
    expect((await get('/etc/passwd')).status).toBe(404);
  });

  it('opens nothing on port 0 and says which port is in use', async () => {
    expect((await startHealthServer({ port: 0, checks: {} })).port).toBe(0);
    await start({});
    const taken = startHealthServer({ port: server?.port ?? 0, checks: {} });
    await expect(taken).rejects.toMatchObject({ code: 'PORT_IN_USE', message: expect.stringContaining('HEALTH_PORT') });
  });
});
