import { QuaestorError, type AssistantRole, type FinishReason, type ModelMessage, type Usage } from '#contracts';
import type { LanguageModel, ModelRequest } from '#domain';
import { promptProblem } from './prompt-problem.ts';

export interface WantedCall {
  name: string;
  /** A string is sent as it is, so that a script can send what does not parse. */
  arguments: Record<string, unknown> | string;
}

/** What the model does with one request. Text arrives first, then reasoning and calls, then the end. */
export interface ModelAnswer {
  text?: string;
  reasoning?: string;
  calls?: WantedCall[];
  finish?: FinishReason['kind'];
  /** Thrown in the place of a finish. */
  error?: QuaestorError;
  /** Nothing more comes after the text, until the caller gives up. */
  hangs?: boolean;
  usage?: Usage;
}

/** One request as a script sees it. */
export interface ModelCall {
  role: AssistantRole;
  /** The question, or the task of a worker. */
  task: string;
  /** Answers with calls that the conversation holds already. */
  step: number;
  /** Names of the offered tools. */
  tools: string[];
  /** Results in the conversation, oldest first. */
  results: Extract<ModelMessage, { role: 'tool' }>[];
  request: ModelRequest;
  /** How often this very prompt was sent before. */
  repeat: number;
}

export type ModelScript = (call: ModelCall) => ModelAnswer | Promise<ModelAnswer>;

const WORDS_PER_CHUNK = 3;

/** A model in this process that plays a script, keeps what it was sent, and refuses what a vendor would refuse. */
export class ScriptedModel implements LanguageModel {
  readonly host = 'scripted';
  readonly id = 'scripted';
  readonly calls: ModelCall[] = [];
  readonly problems: string[] = [];
  readonly #script: ModelScript;
  #callIds = 0;

  constructor(script: ModelScript) {
    this.#script = script;
  }

  async stream(request: ModelRequest, onChunk: Parameters<LanguageModel['stream']>[1], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const problem = promptProblem(request);
    if (problem !== null) this.problems.push(problem);
    const call = this.#read(request);
    this.calls.push(call);
    const answer = await this.#script(call);
    signal.throwIfAborted();
    if (answer.reasoning !== undefined) onChunk({ type: 'reasoning-delta', index: 9, text: answer.reasoning });
    for (const text of inPieces(answer.text ?? '')) onChunk({ type: 'text-delta', index: 0, text });
    if (answer.hangs) await aborted(signal);
    for (const [index, wanted] of (answer.calls ?? []).entries()) {
      const argumentsDelta = typeof wanted.arguments === 'string' ? wanted.arguments : JSON.stringify(wanted.arguments);
      onChunk({ type: 'tool-call-delta', index: 1 + index, id: `provider-${++this.#callIds}`, name: wanted.name, argumentsDelta });
    }
    if (answer.usage !== undefined) onChunk({ type: 'usage', usage: answer.usage });
    if (answer.error !== undefined) throw answer.error;
    onChunk({ type: 'finish', reason: { kind: answer.finish ?? ((answer.calls ?? []).length > 0 ? 'tool-calls' : 'stop') } });
  }

  #read(request: ModelRequest): ModelCall {
    const { messages, tools } = request;
    const sent = JSON.stringify(messages);
    return {
      role: messages[0]?.content.includes('supervisor of a research team') ? 'supervisor' : 'worker',
      task: messages[1]?.content ?? '',
      step: messages.filter((message) => message.role === 'assistant' && message.toolCalls).length,
      tools: tools.map(({ name }) => name),
      results: messages.filter((message) => message.role === 'tool'),
      request: { ...request, messages: [...messages] },
      repeat: this.calls.filter((call) => JSON.stringify(call.request.messages) === sent).length,
    };
  }
}

/** Rejects when the signal aborts, with its reason. */
export const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

const inPieces = (text: string): string[] => {
  const words = text.split(/(?<= )/);
  return Array.from({ length: Math.ceil(words.length / WORDS_PER_CHUNK) }, (_, at) => words.slice(at * WORDS_PER_CHUNK, (at + 1) * WORDS_PER_CHUNK).join('')).filter((piece) => piece !== '');
};
