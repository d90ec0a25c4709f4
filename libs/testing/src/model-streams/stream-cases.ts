import type { ErrorCode } from '#contracts';
import { CHAT_CASES } from './chat-cases.ts';
import { MESSAGES_CASES } from './messages-cases.ts';
import { RESPONSES_CASES } from './responses-cases.ts';
import type { WireWriter } from './wire-writers.ts';

/** One way in which a real server has answered, recorded as its events, and what must become of it. */
export interface StreamCase {
  name: string;
  /** Rows of the fault catalogue that it stands for. */
  rows: string;
  /** Default `scripted`: a model without quirks. */
  model?: string;
  events: readonly string[];
  /** Calls as `id|name|arguments`, and the text; or the code of the failed attempt. */
  expected: { calls?: readonly string[]; text?: string; reasoning?: string } | { error: ErrorCode };
}

/** All cases, each with its protocol. */
export const STREAM_CASES: readonly (StreamCase & { protocol: WireWriter['protocol'] })[] = [
  ...CHAT_CASES.map((streamCase) => ({ ...streamCase, protocol: 'openai-compatible' as const })),
  ...RESPONSES_CASES.map((streamCase) => ({ ...streamCase, protocol: 'openai-responses' as const })),
  ...MESSAGES_CASES.map((streamCase) => ({ ...streamCase, protocol: 'anthropic' as const })),
];
