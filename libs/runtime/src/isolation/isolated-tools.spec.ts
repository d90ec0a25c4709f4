import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError } from '#contracts';
import type { DocumentIndex, Source, ToolCaller, ToolPorts } from '#domain';
import { waitUntil } from '#testing';
import { webConfig } from '#web';
import { IsolatedTools } from './isolated-tools.ts';

const toolsModule = new URL('../spec-support/deadly-tools.ts', import.meta.url).href;
const caller = { tenantId: 'ten_own', runId: 'run_own', rootRunId: 'run_root', role: 'worker', scratchpadThreadId: 'thr_own', toolCallId: `call_${'0'.repeat(26)}`, worker: 1, hostPolicy: null } as unknown as ToolCaller;
const never = new AbortController().signal;
const dead: string[] = [];
const sockets = new Set<Socket>();
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url !== '/stuck') response.writeHead(200, { 'content-type': 'text/plain' }).end('A lease is a right with an end.');
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

const nothing = (): never => {
  throw new Error('nobody should ask for this');
};

const noSource = (_asked: number): Promise<Source | null> => Promise.resolve(null);

function isolated(sources: Partial<ToolPorts['sources']> = {}): IsolatedTools {
  const ports: ToolPorts = {
    search: { id: 'none', search: nothing },
    pages: { canonicalUrl: nothing, read: nothing },
    sources: { findByUrl: () => Promise.resolve(null), get: nothing, heads: nothing, ...sources },
    scratchpad: { read: nothing },
    writeScratchpad: nothing,
    pageChars: 8_000,
  };
  const web = webConfig.parse({ SEARCH_PROVIDER: 'searxng', SEARXNG_URL: origin, WEB_ALLOW_PRIVATE_HOSTS: new URL(origin).host });
  return new IsolatedTools({ ports, documents: {} as DocumentIndex, web, toolsModule, onDeath: ({ toolCallId }) => dead.push(toolCallId) });
}

const read = (tools: IsolatedTools, path: string, timeoutMs = 20_000, signal = never) =>
  tools.execute({ tool: 'read_web_page', args: { url: `${origin}${path}` }, caller, timeoutMs }, signal);

describe('a call in a process of its own', () => {
  it('ends as it would here: the web is reached from there, rows are asked for here', async () => {
    const asked: unknown[] = [];
    const outcome = await read(isolated({ findByUrl: (...given) => noSource(asked.push(given)) }), '/page');
    expect(outcome).toMatchObject({ kind: 'settled', result: { kind: 'page', pages: 1 }, source: { page: { text: 'A lease is a right with an end.' } }, events: [{ type: 'source', worker: 1 }] });
    expect(asked).toEqual([['run_root', `${origin}/page`]]);
  });

  it('[Q-26] gets rows of the caller it was given, whoever it says it is', async () => {
    const asked: unknown[] = [];
    await read(isolated({ findByUrl: (rootRunId) => noSource(asked.push(rootRunId)) }), '/deadly/foreign');
    expect(asked).toEqual(['run_root']);
  });

  it('[Q-27] has no address of a store, no key and nothing else of its parent\'s environment', async () => {
    const outcome = await read(isolated(), '/deadly/environment');
    const names = outcome.result.kind === 'text' ? outcome.result.text.split(' ') : [];
    expect(names.filter((name) => !/^(PATH|HOME|TMPDIR|LANG|TZ|NODE_.*|SSL_CERT_.*)$/.test(name))).toEqual([]);
  });

  it.each([['[P11] its process is killed', '/deadly/kill'], ['[P09] its process runs out of memory', '/deadly/memory']])('[Q-16] %s: the third death is an error that says so', async (_what, path) => {
    await expect(read(isolated(), path)).rejects.toMatchObject({ code: 'TOOL_KILLED_PROCESS', message: expect.stringContaining(' 3 times') as string });
    expect(dead.splice(0)).toEqual([caller.toolCallId]);
  });

  it('that blocks its event loop is ended at its own limit', async () => {
    await expect(read(isolated(), '/deadly/block/60000', 300)).rejects.toMatchObject({ code: 'TOOL_TIMEOUT' });
    expect(dead).toEqual([]);
  });

  it('ends with its run, and so does its request', async () => {
    const abort = new AbortController();
    const outcome = read(isolated(), '/stuck', 20_000, abort.signal);
    await waitUntil(() => sockets.size > 0, { what: 'the request' });
    abort.abort(new QuaestorError('RUN_CANCELLED', 'cancelled'));
    await expect(outcome).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
    await waitUntil(() => sockets.size === 0, { what: 'the end of the process' });
  });

  it('does not answer for a failure of the stores: the error arrives as it was', async () => {
    const failure = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', fatal: true });
    await expect(read(isolated({ findByUrl: () => Promise.reject(failure) }), '/page')).rejects.toBe(failure);
  });

  it('hears a port\'s own error with its code', async () => {
    const refused = new QuaestorError('JOURNAL_INVALID', 'A row cannot be read.');
    await expect(read(isolated({ findByUrl: () => Promise.reject(refused) }), '/page')).rejects.toMatchObject({ code: 'JOURNAL_INVALID', message: 'A row cannot be read.' });
  });

  it('[Q-17] waits for one of two slots, and gives its place in the line back when its run ends', async () => {
    const tools = isolated();
    const [abort, other] = [new AbortController(), new AbortController()];
    const running = [read(tools, '/deadly/hang', 20_000, abort.signal), read(tools, '/deadly/hang', 20_000, abort.signal)];
    const gone = read(tools, '/page', 20_000, other.signal);
    const next = read(tools, '/page');
    other.abort(new QuaestorError('LEASE_LOST', 'lost'));
    await expect(gone).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await Promise.race([next.then(() => 'done'), Promise.resolve('waiting')])).toBe('waiting');
    abort.abort(new QuaestorError('RUN_CANCELLED', 'cancelled'));
    await Promise.allSettled(running);
    expect(await next).toMatchObject({ result: { kind: 'page' } });
  });
});
