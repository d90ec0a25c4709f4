import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { QuaestorError } from '#contracts';
import type { Registry } from 'prom-client';
import { inTime } from './in-time.ts';
import { collectNodeMetrics, metricsRegistry } from './metrics.ts';

/** Resolves when the thing can be used, throws when not. Must be safe to run once per second. */
export type ReadinessCheck = () => Promise<unknown>;

const CHECK_TIMEOUT_MS = 1_000;

/** Names of the checks that failed or did not answer within a second; empty means ready. */
export async function failingChecks(checks: Readonly<Record<string, ReadinessCheck>>, timeoutMs = CHECK_TIMEOUT_MS): Promise<string[]> {
  const results = await Promise.all(Object.entries(checks).map(async ([name, check]) => ((await passes(check, timeoutMs)) ? undefined : name)));
  return results.filter((name) => name !== undefined);
}

const passes = async (check: ReadinessCheck, timeoutMs: number): Promise<boolean> => (await inTime(() => check().then(() => true), timeoutMs)) ?? false;

export interface HealthServerOptions {
  /** Port to listen on; 0 = no server at all. `'any'` takes a free one (tests). */
  port: number | 'any';
  /** Default 127.0.0.1. */
  host?: string;
  checks: Readonly<Record<string, ReadinessCheck>>;
  /** Default: the registry of this process, with Node's own figures added. */
  registry?: Registry;
}

export interface HealthServer {
  /** The port in use, or 0 when off. */
  readonly port: number;
  /** From now on `/readyz` answers 503 with `draining`, so that nobody sends new work. */
  drain(): void;
  close(): Promise<void>;
}

/**
 * `/healthz` answers as long as the event loop turns; `/readyz` runs the checks; `/metrics` prints the registry. For processes that have no
 * API of their own.
 * @throws QuaestorError `PORT_IN_USE`
 */
export async function startHealthServer({ port, host = '127.0.0.1', checks, registry = metricsRegistry }: HealthServerOptions): Promise<HealthServer> {
  if (port === 0) return { port: 0, drain: () => undefined, close: async () => undefined };
  collectNodeMetrics(registry);
  let draining = false;
  const server = createServer((request, response) => {
    void answer(request.url ?? '/', response, { checks, registry, draining });
  });
  await listen(server, port === 'any' ? 0 : port, host);
  return {
    port: (server.address() as AddressInfo).port,
    drain: () => {
      draining = true;
    },
    close: () => closeServer(server),
  };
}

async function answer(
  url: string,
  response: ServerResponse,
  state: { checks: Readonly<Record<string, ReadinessCheck>>; registry: Registry; draining: boolean },
): Promise<void> {
  const path = url.split('?', 1)[0];
  if (path === '/healthz') return sendJson(response, 200, { status: 'ok' });
  if (path === '/readyz') {
    const failing = state.draining ? ['draining'] : await failingChecks(state.checks);
    return sendJson(response, failing.length === 0 ? 200 : 503, { status: failing.length === 0 ? 'ready' : 'not_ready', failing });
  }
  if (path === '/metrics') {
    response.writeHead(200, { 'content-type': state.registry.contentType });
    response.end(await state.registry.metrics());
    return;
  }
  sendJson(response, 404, { status: 'not_found' });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new QuaestorError('PORT_IN_USE', `Port ${port} on ${host} is in use: set HEALTH_PORT to a free one.`, { cause: error }) : error);
    });
    server.listen(port, host, resolve);
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
