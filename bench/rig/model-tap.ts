import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { createParser } from 'eventsource-parser';

/** Stands between the engine and the model server, passes bytes on, and reads along: what a direct reader would have seen, and when. */
export interface ModelTap {
  url: string;
  /** Names the model server; before, nothing can be passed on. */
  connect(target: string): void;
  /** When the longest answer of a run had reached so many characters, on the clock of `performance.now()`. */
  directAtMs(token: string, length: number): number | undefined;
  close(): Promise<void>;
}

interface Answer {
  length: number;
  atMs: Map<number, number>;
}

export async function startModelTap(): Promise<ModelTap> {
  const longest = new Map<string, Answer>();
  let target = '';
  const server = createServer((incoming, outgoing) => void pass(incoming, outgoing, target, longest));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connect: (url) => void (target = url),
    directAtMs: (token, length) => longest.get(token)?.atMs.get(length),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function pass(incoming: IncomingMessage, outgoing: ServerResponse, target: string, longest: Map<string, Answer>): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const token = /run\.([0-9a-f]{12})/.exec(body.toString('utf8'))?.[1] ?? '';
  const answer: Answer = { length: 0, atMs: new Map() };
  const parser = createParser({ onEvent: ({ data }) => note(answer, data) });
  const upstream = request(target + (incoming.url ?? ''), { method: incoming.method, headers: { ...incoming.headers, host: new URL(target).host } }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    const decoder = new TextDecoder();
    response.on('data', (part: Buffer) => {
      outgoing.write(part);
      parser.feed(decoder.decode(part, { stream: true }));
      if (answer.length > (longest.get(token)?.length ?? 0)) longest.set(token, answer);
    });
    response.on('end', () => outgoing.end());
    response.on('error', () => outgoing.destroy());
  });
  upstream.on('error', () => outgoing.destroy());
  outgoing.on('close', () => upstream.destroy());
  upstream.end(body);
}

function note(answer: Answer, data: string): void {
  if (data === '[DONE]') return;
  const { choices } = JSON.parse(data) as { choices?: { delta?: { content?: string | null } }[] };
  const text = choices?.[0]?.delta?.content ?? '';
  if (text === '') return;
  answer.length += text.length;
  answer.atMs.set(answer.length, performance.now());
}
