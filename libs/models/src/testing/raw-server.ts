import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** What a scripted connection does once a whole request has come. It owns the socket and writes raw bytes. */
export type RawAnswer = (socket: Socket, body: string) => void;

export interface RawServer {
  baseUrl: string;
  /** Bodies of the requests so far, oldest first. */
  bodies: string[];
  /** Heads of the requests so far. */
  heads: string[];
  /** Answers given in turn; the last one answers everything that follows. */
  answers: RawAnswer[];
  close(): Promise<void>;
}

const HEAD_END = '\r\n\r\n';

/** A loopback server that speaks bytes, so that a test can send what no HTTP library would. */
export async function startRawServer(...answers: RawAnswer[]): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const state: RawServer = { baseUrl: '', bodies: [], heads: [], answers, close: () => Promise.resolve() };
  const serve = (socket: Socket, head: string, body: string): void => {
    const answer = state.answers[Math.min(state.bodies.length, state.answers.length - 1)];
    state.heads.push(head);
    state.bodies.push(body);
    answer?.(socket, body);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    let received = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      const headEnd = received.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const head = received.subarray(0, headEnd).toString('latin1');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const bodyStart = headEnd + HEAD_END.length;
      if (received.length < bodyStart + length) return;
      const body = received.subarray(bodyStart, bodyStart + length).toString('utf8');
      received = received.subarray(bodyStart + length);
      serve(socket, head, body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  state.close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return state;
}

export const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';

/** An answer without a length: the end of the connection is the end of the body. */
export const untilClose =
  (...parts: (string | Buffer)[]): RawAnswer =>
  (socket) => {
    socket.write(`${STREAM_HEAD}connection: close\r\n\r\n`);
    for (const part of parts) socket.write(part);
    socket.end();
  };

const frame = (part: string | Buffer): Buffer => {
  const bytes = Buffer.from(part as string);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
};

/** A chunked answer that keeps the connection; the last chunk is left out when `ended` is false. */
export const chunked =
  (parts: readonly (string | Buffer)[], ended = true): RawAnswer =>
  (socket) => {
    socket.write(`${STREAM_HEAD}transfer-encoding: chunked\r\n\r\n`);
    for (const part of parts) socket.write(frame(part));
    if (ended) socket.write('0\r\n\r\n');
  };

/** A plain answer with a length. */
export const plain =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}): RawAnswer =>
  (socket) => {
    const lines = Object.entries({ 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers });
    socket.write(`HTTP/1.1 ${status} Scripted\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`);
  };

/** One event with a JSON payload. */
export const event = (payload: unknown): string => `data: ${JSON.stringify(payload)}\n\n`;

/** One event with a delta, and a finish reason where given. */
export const delta = (member: unknown, finishReason: string | null = null): string =>
  event({ id: 'chatcmpl-1', model: 'scripted', choices: [{ index: 0, delta: member, finish_reason: finishReason }] });

export const DONE = 'data: [DONE]\n\n';
