import { MESSAGES_WRITER, RESPONSES_WRITER, type WireAnswer, type WireWriter } from '../model-streams/wire-writers.ts';
import { argumentText, issuedWith, streamEvents, type PreparedAnswer } from './answer-stream.ts';
import { issueCallId } from './call-ids.ts';
import type { HttpRequest } from './http-requests.ts';
import { messagesRequest } from './messages-request.ts';
import { responsesRequest } from './responses-request.ts';
import type { WireRequest } from './wire-types.ts';

/** A protocol that the scripted server speaks: requests become chat completions, which scripts and the strict rules know. */
export interface ServedProtocol {
  path: string;
  /** What is wrong with how a request names its key, as one sentence; null when nothing is. */
  keyProblem(request: HttpRequest): string | null;
  /** The request as chat completions, or what is wrong with it. */
  read(body: unknown): WireRequest | string;
  events(prepared: PreparedAnswer): string[];
}

const FINISH = { stop: 'stop', tool_calls: 'tool-calls', length: 'max-tokens', content_filter: 'content-filter' } as const;

const bearerProblem = ({ header }: HttpRequest): string | null => (header('x-api-key') === undefined ? null : 'the key belongs into authorization, not into x-api-key');

const messagesKeyProblem = ({ header }: HttpRequest): string | null => {
  if (header('authorization') !== undefined) return 'the key belongs into x-api-key, not into authorization';
  if (header('x-api-key') === undefined) return 'x-api-key is missing';
  return header('anthropic-version') === undefined ? 'anthropic-version is missing' : null;
};

const pieces = (text: string | undefined): string[] | undefined => text?.match(/\S+\s*|\s+/g) ?? undefined;

const writtenBy =
  (writer: WireWriter) =>
  ({ answer, model, promptTokens, responseNumber }: PreparedAnswer): string[] => {
    const calls = (answer.calls ?? []).map((call, index) => ({ id: issueCallId(responseNumber, index, issuedWith({ model, answer })), name: call.name, pieces: argumentText(call).match(/[^]{1,5}/g) ?? [] }));
    const written: WireAnswer = {
      ...(answer.reasoning !== undefined && { reasoning: pieces(answer.reasoning) ?? [] }),
      ...(answer.text !== undefined && { text: pieces(answer.text) ?? [] }),
      calls,
      finish: FINISH[answer.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop')],
      model,
      inputTokens: promptTokens,
    };
    return writer.events(written);
  };

export const SERVED_PROTOCOLS: readonly ServedProtocol[] = [
  { path: '/chat/completions', keyProblem: bearerProblem, read: (body) => body as WireRequest, events: streamEvents },
  { path: '/responses', keyProblem: bearerProblem, read: responsesRequest, events: writtenBy(RESPONSES_WRITER) },
  { path: '/v1/messages', keyProblem: messagesKeyProblem, read: messagesRequest, events: writtenBy(MESSAGES_WRITER) },
];
