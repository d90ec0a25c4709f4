import type { ScriptedAnswer, ScriptedCall } from './script.ts';
import { issueCallId, type IssuedCall } from './call-ids.ts';

const ARGUMENT_CHARS_PER_EVENT = 5;
const DONE = 'data: [DONE]\n\n';

/** An answer with everything its wire form needs. */
export interface PreparedAnswer {
  id: string;
  responseNumber: number;
  model: string;
  createdSeconds: number;
  answer: ScriptedAnswer;
  /** Its server-sent events in the protocol it was asked in, one string each, with the end marker as the last. */
  events: (prepared: PreparedAnswer) => string[];
  promptTokens: number;
  isUsageAsked: boolean;
  /** Told when each paced event is written, in order. */
  onWrite: () => void;
}

export const argumentText = (call: ScriptedCall): string => (typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments));

/** What the calls of an answer are issued with. */
export const issuedWith = ({ model, answer }: Pick<PreparedAnswer, 'model' | 'answer'>): IssuedCall => ({ model, reasoning: answer.reasoning ?? '' });

const finishReason = ({ finishReason: given, calls }: ScriptedAnswer): string => given ?? ((calls?.length ?? 0) > 0 ? 'tool_calls' : 'stop');

/** Server-sent events of a streamed answer, one string each, with the end marker as the last. */
export function streamEvents(prepared: PreparedAnswer): string[] {
  const { id, model, createdSeconds, answer, responseNumber } = prepared;
  const head = `data: {"id":"${id}","object":"chat.completion.chunk","created":${createdSeconds},"model":${JSON.stringify(model)},"choices":[{"index":0,"delta":`;
  const event = (delta: string): string => `${head}${delta},"logprobs":null,"finish_reason":null}]}\n\n`;
  const events = [event('{"role":"assistant","content":""}')];
  for (const word of pieces(answer.reasoning)) events.push(event(`{"reasoning_content":${JSON.stringify(word)}}`));
  for (const word of pieces(answer.text)) events.push(event(`{"content":${JSON.stringify(word)}}`));
  for (const [index, call] of (answer.calls ?? []).entries()) pushCall(events, event, call, index, issueCallId(responseNumber, index, issuedWith(prepared)));
  const outputTokens = events.length - 1;
  events.push(`${head}{},"logprobs":null,"finish_reason":"${finishReason(answer)}"}]}\n\n`);
  const usage = JSON.stringify(usageOf(prepared.promptTokens, outputTokens));
  if (prepared.isUsageAsked) events.push(`data: {"id":"${id}","object":"chat.completion.chunk","created":${createdSeconds},"model":${JSON.stringify(model)},"choices":[],"usage":${usage}}\n\n`);
  events.push(DONE);
  return events;
}

function pushCall(events: string[], event: (delta: string) => string, call: ScriptedCall, index: number, callId: string): void {
  events.push(event(`{"tool_calls":[{"index":${index},"id":"${callId}","type":"function","function":{"name":${JSON.stringify(call.name)},"arguments":""}}]}`));
  const text = argumentText(call);
  for (let start = 0; start < text.length; start += ARGUMENT_CHARS_PER_EVENT) {
    const delta = JSON.stringify(text.slice(start, start + ARGUMENT_CHARS_PER_EVENT));
    events.push(event(`{"tool_calls":[{"index":${index},"function":{"arguments":${delta}}}]}`));
  }
}

/** Words with the space that follows them, so that the pieces join to the text. */
const pieces = (text: string | undefined): string[] => text?.match(/\S+\s*|\s+/g) ?? [];

/** The same answer as one JSON object, for requests without `stream`. */
export function wholeAnswer(prepared: PreparedAnswer): object {
  const { id, model, createdSeconds, answer, responseNumber, promptTokens } = prepared;
  const calls = (answer.calls ?? []).map((call, index) => ({
    id: issueCallId(responseNumber, index, issuedWith(prepared)),
    type: 'function',
    function: { name: call.name, arguments: argumentText(call) },
  }));
  const message = {
    role: 'assistant',
    content: answer.text ?? null,
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(answer) };
  return { id, object: 'chat.completion', created: createdSeconds, model, choices: [choice], usage: usageOf(promptTokens, countTokens(answer)) };
}

/** Tokens of an answer as its stream would count them: one per event that carries content. */
export function countTokens(answer: ScriptedAnswer): number {
  const callTokens = (answer.calls ?? []).reduce((sum, call) => sum + 1 + Math.ceil(argumentText(call).length / ARGUMENT_CHARS_PER_EVENT), 0);
  return pieces(answer.reasoning).length + pieces(answer.text).length + callTokens;
}

const usageOf = (promptTokens: number, outputTokens: number) => ({
  prompt_tokens: promptTokens,
  completion_tokens: outputTokens,
  total_tokens: promptTokens + outputTokens,
});
