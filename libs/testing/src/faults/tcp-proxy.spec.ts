import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { waitUntil } from '../wait-until.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A server that answers each piece with its name and that piece. */
async function startEcho(name: string): Promise<{ server: Server; url: string; heard: string[]; ended: string[] }> {
  const heard: string[] = [];
  const ended: string[] = [];
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      heard.push(data.toString());
      socket.write(`${name}:${data.toString()}`);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => ended.push(error.code ?? 'error'));
    socket.on('close', () => ended.push('close'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, ended };
}

class Client {
  readonly socket: Socket;
  text = '';
  pieces = 0;
  code: string | undefined;

  constructor(url: string) {
    this.socket = connect(Number(new URL(url).port), '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (data) => {
      this.pieces++;
      this.text += data.toString();
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => (this.code = error.code));
    clients.push(this);
  }

  async says(text: string, answer: string): Promise<void> {
    this.socket.write(text);
    await waitUntil(() => this.text.endsWith(answer), { what: `the answer ${answer}`, intervalMs: 2 });
  }

  get isClosed(): boolean {
    return this.socket.destroyed;
  }
}

let echo: Awaited<ReturnType<typeof startEcho>>;
let proxy: TcpProxy;
let clients: Client[] = [];
beforeEach(async () => {
  echo = await startEcho('one');
  proxy = await TcpProxy.open(echo.url);
});
afterEach(async () => {
  for (const client of clients) client.socket.destroy();
  clients = [];
  await proxy.close();
  echo.server.close();
});

const closeOf = (client: Client) => waitUntil(() => client.isClosed, { what: 'the end of the connection', intervalMs: 2 });

describe('TcpProxy', () => {
  it('passes everything and notes nothing while it is healthy', async () => {
    const client = new Client(proxy.url);
    await client.says('hello', 'one:hello');
    expect(() => proxy.receipts.require('reset')).toThrow('landed 0 of 1 times');
    expect(proxy.size).toBe(1);
  });

  it('delays bytes in order, with a receipt for each connection', async () => {
    const client = new Client(proxy.url);
    proxy.poison({ latencyMs: 20, jitterMs: 30 });
    const startedMs = performance.now();
    await client.says('a', 'a');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(40);
    for (const letter of 'bcdef') client.socket.write(letter);
    await waitUntil(() => echo.heard.join('') === 'abcdef', { what: 'all letters in order', intervalMs: 2 });
    expect(proxy.receipts.count('latency')).toBe(1);
  });

  it('cuts bytes into single ones and loses none', async () => {
    const client = new Client(proxy.url);
    proxy.poison({ sliceBytes: 1 });
    client.socket.write('sliced');
    await waitUntil(() => client.text.replaceAll('one:', '') === 'sliced', { what: 'all bytes', intervalMs: 2 });
    proxy.receipts.require('slice');
  });

  it('ends a connection after so many bytes of replies', async () => {
    const client = new Client(proxy.url);
    proxy.poison({ replyBytesMax: 6 });
    client.socket.write('hello');
    await closeOf(client);
    expect(client.text).toBe('one:he');
    proxy.receipts.require('byte-limit');
  });

  it('resets open connections, and serves the next', async () => {
    const client = new Client(proxy.url);
    await client.says('x', 'x');
    proxy.reset();
    await closeOf(client);
    expect(client.code).toBe('ECONNRESET');
    await new Client(proxy.url).says('y', 'y');
    proxy.receipts.require('reset');
  });

  it('goes down and comes back under the same address', async () => {
    const client = new Client(proxy.url);
    await client.says('x', 'x');
    await proxy.down();
    await closeOf(client);
    const refused = new Client(proxy.url);
    await closeOf(refused);
    expect(refused.code).toBe('ECONNREFUSED');
    await proxy.heal();
    await new Client(proxy.url).says('y', 'y');
    expect(proxy.receipts.of('down')[0]?.evidence).toBe('1 connections');
  });

  it('holds bytes until it is healed', async () => {
    const client = new Client(proxy.url);
    await client.says('x', 'x');
    proxy.hold();
    client.socket.write('late');
    const behind = new Client(echo.url);
    await behind.says('z', 'z');
    expect(echo.heard).not.toContain('late');
    await proxy.heal();
    await waitUntil(() => client.text.endsWith('late'), { what: 'what was held', intervalMs: 2 });
  });

  it('swallows bytes of a connection that stays open and dead, while new ones work after it was healed', async () => {
    const client = new Client(proxy.url);
    await client.says('x', 'x');
    proxy.swallow();
    client.socket.write('gone');
    await waitUntil(() => proxy.receipts.count('swallow') === 1, { what: 'the receipt', intervalMs: 2 });
    await proxy.heal();
    client.socket.write('gone too');
    await new Client(proxy.url).says('y', 'y');
    expect(client.isClosed).toBe(false);
    expect(echo.heard.filter((text) => text.startsWith('gone'))).toEqual([]);
  });

  it('forwards a request and cuts the connection before its reply is heard', async () => {
    proxy.cutReplyTo('COMMIT', { skip: 1, isWholeReply: () => true });
    const client = new Client(proxy.url);
    await client.says('COMMIT 1', 'COMMIT 1');
    await client.says('other words', 'other words');
    client.socket.write('COMMIT 2');
    await closeOf(client);
    expect(echo.heard).toEqual(['COMMIT 1', 'other words', 'COMMIT 2']);
    expect(client.text).not.toContain('COMMIT 2');
    proxy.receipts.require('cut-reply');
    await new Client(proxy.url).says('COMMIT 3', 'COMMIT 3');
  });

  it('tells the other side late that one has ended', async () => {
    const client = new Client(proxy.url);
    await client.says('x', 'x');
    proxy.poison({ closeDelayMs: 50 });
    const startedMs = performance.now();
    client.socket.destroy();
    await waitUntil(() => echo.ended.includes('close'), { what: 'the far end', intervalMs: 2 });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(49);
    proxy.receipts.require('slow-close');
  });

  it('leads to another server after a failover', async () => {
    const other = await startEcho('two');
    const client = new Client(proxy.url);
    await client.says('x', 'one:x');
    proxy.switchTo(other.url);
    await closeOf(client);
    await new Client(proxy.url).says('y', 'two:y');
    proxy.receipts.require('switch');
    await proxy.close();
    other.server.close();
  });
});
