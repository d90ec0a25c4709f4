import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { BlockAssembler, type LanguageModel } from '#domain';
import { createModels, modelConfig } from '#models';
import { settleWith, TOOL_NAMES, type StreamEnd } from './judge.ts';

const HANG_AFTER_MS = 10_000;

/** Plays streams over real connections: the pieces of a stream are separate writes, and its end is the end of the connection. */
export class SocketShare {
  readonly #server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    let head = '';
    socket.on('data', (bytes) => {
      head += bytes.toString('latin1');
      const stream = /stream#(\d+)/.exec(head)?.[1];
      if (stream === undefined) return;
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n');
      for (const piece of this.#streams.get(stream) ?? []) socket.write(piece);
      socket.end();
    });
  });
  readonly #streams = new Map<string, readonly Buffer[]>();
  readonly #models = new Map<string, LanguageModel>();
  #played = 0;

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** The end of the stream, or `hung`. */
  async play(protocol: string, modelName: string, pieces: readonly Buffer[]): Promise<StreamEnd | 'hung'> {
    const id = String(++this.#played);
    this.#streams.set(id, pieces);
    const assembler = new BlockAssembler();
    const request = { model: modelName, messages: [{ role: 'user' as const, content: `stream#${id}` }], tools: [...TOOL_NAMES].map((name) => ({ name, description: name, parameters: { type: 'object' } })), maxOutputTokens: 4_096 };
    const call = this.#modelFor(protocol).stream(request, (chunk) => assembler.push(chunk), new AbortController().signal);
    const ended = call.then(() => settleWith(assembler, undefined), (error: unknown) => settleWith(assembler, error));
    let timer: NodeJS.Timeout | undefined;
    const hung = new Promise<'hung'>((resolve) => (timer = setTimeout(() => resolve('hung'), HANG_AFTER_MS)));
    const end = await Promise.race([ended, hung]);
    clearTimeout(timer);
    this.#streams.delete(id);
    return end;
  }

  #modelFor(protocol: string): LanguageModel {
    let model = this.#models.get(protocol);
    if (model === undefined) {
      const { port } = this.#server.address() as AddressInfo;
      const settings = { MODEL_PROVIDER: protocol, MODEL_BASE_URL: `http://127.0.0.1:${port}/v1`, MODEL_NAME: 'scripted', MODEL_IDLE_TIMEOUT_MS: '5000' };
      this.#models.set(protocol, (model = createModels(modelConfig.parse(settings)).supervisor[0].model));
    }
    return model;
  }

  close(): void {
    this.#server.close();
  }
}
