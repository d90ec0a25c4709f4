import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message of a prompt as it went over the wire. */
export interface SentMessage {
  role: string;
  content: string | null;
  tool_calls?: { id: string; function: { name: string } }[];
  tool_call_id?: string;
}

/** Stands between a stack and a model server, passes everything on as it comes, and keeps every prompt. */
export class PromptTap {
  readonly prompts: SentMessage[][] = [];
  readonly #server: Server;

  static async open(target: () => string): Promise<PromptTap> {
    const tap = new PromptTap(target);
    await new Promise<void>((resolve) => tap.#server.listen(0, '127.0.0.1', resolve));
    return tap;
  }

  private constructor(target: () => string) {
    this.#server = createServer((incoming, outgoing) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () => {
        const body = Buffer.concat(parts);
        this.prompts.push((JSON.parse(body.toString()) as { messages: SentMessage[] }).messages);
        const forwarded = request(`${target()}${incoming.url}`, { method: incoming.method, headers: { ...incoming.headers, host: new URL(target()).host } }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
          answer.on('error', () => outgoing.destroy());
        });
        forwarded.on('error', () => outgoing.destroy());
        outgoing.on('close', () => forwarded.destroy());
        forwarded.end(body);
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
