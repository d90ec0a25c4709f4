import { onTestFinished } from 'vitest';
import { QuaestorError, type ModelChunk, type StreamBlock, type Usage } from '#contracts';
import { BlockAssembler, type LanguageModel, type ModelRequest } from '#domain';
import { CHAT_COMPLETIONS } from '../chat-completions/protocol.ts';
import type { WireProtocol } from '../wire/protocol.ts';
import { StreamedModel, type StreamedModelOptions } from '../wire/streamed-model.ts';
import { delta, DONE, event, startRawServer, type RawAnswer, type RawServer } from './raw-server.ts';

export const API_KEY = 'sk-canary-0123456789abcdef';
export const REQUEST: ModelRequest = { model: 'scripted', messages: [{ role: 'user', content: 'question' }], tools: [], maxOutputTokens: 100 };
export const NEVER = new AbortController().signal;

/** What a call delivered, put together, and how it ended. */
export interface Answer {
  chunks: ModelChunk[];
  blocks: StreamBlock[];
  usage: Usage | undefined;
  finish: string | undefined;
  error: QuaestorError | undefined;
}

/** A scripted server and a model that talks to it; both end with the test. */
export async function start(answers: RawAnswer[], options: Partial<StreamedModelOptions> = {}, protocol: WireProtocol = CHAT_COMPLETIONS): Promise<{ server: RawServer; model: StreamedModel }> {
  const server = await startRawServer(...answers);
  const model = new StreamedModel(protocol, { baseUrl: server.baseUrl, apiKey: API_KEY, idleTimeoutMs: 5_000, callTimeoutMs: 10_000, ...options });
  onTestFinished(() => server.close());
  return { server, model };
}

/** One call. Errors of ours become part of the answer; every other error fails the test. */
export async function ask(model: LanguageModel, request = REQUEST, signal = NEVER): Promise<Answer> {
  const chunks: ModelChunk[] = [];
  let error: QuaestorError | undefined;
  try {
    await model.stream(request, (chunk) => chunks.push(chunk), signal);
  } catch (thrown) {
    if (!(thrown instanceof QuaestorError)) throw thrown;
    error = thrown;
  }
  const assembler = new BlockAssembler();
  for (const chunk of chunks) assembler.push(chunk);
  return { chunks, blocks: assembler.blocks(), usage: assembler.usage, finish: assembler.finished ? assembler.finish.kind : undefined, error };
}

/** The answer to one call against a server that runs this script. */
export const answerOf = async (...answers: RawAnswer[]): Promise<Answer> => ask((await start(answers)).model);

export const textIn = ({ blocks }: Answer): string => blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');

/** A delta with one fragment of a tool call. */
export const call = (member: object, functionMember: object): object => ({ tool_calls: [{ ...member, type: 'function', function: functionMember }] });

/** Tool calls as `id|name|arguments`. */
export const callsIn = ({ blocks }: Answer): string[] => blocks.flatMap((block) => (block.type === 'tool-call' ? [`${block.id}|${block.name}|${block.arguments}`] : []));

export const GOOD_STREAM = [
  ': a comment\n\n',
  delta({ role: 'assistant', content: '', reasoning_content: 'think' }),
  delta({ content: 'héllo ✓ ' }),
  delta({ content: '🜁 world' }),
  delta({}, 'stop'),
  event({ id: 'chatcmpl-1', choices: [], usage: { prompt_tokens: 11, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 }, completion_tokens_details: { reasoning_tokens: 1 } } }),
  DONE,
];
export const GOOD_TEXT = 'héllo ✓ 🜁 world';
