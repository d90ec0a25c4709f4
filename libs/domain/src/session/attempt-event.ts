import { BlockAssembler } from '../stream/assemble.ts';
import { expandAssistantStream } from '../stream/expand.ts';
import type { SessionData } from './session-types.ts';
import { identifiedBlocks } from './identified-blocks.ts';

export interface SettledAttempt {
  kind: 'message' | 'attempt';
  interrupted: boolean;
  provider: string;
  model: string;
}

/** The settlement event of an attempt, but for its turn and step: its message is the one its stream gives. */
export function attemptEventData({ kind, interrupted, provider, model }: SettledAttempt, records: readonly unknown[]): { type: string; data: SessionData } {
  if (kind === 'attempt') return { type: 'assistant/attempt', data: { stream: records } };
  const assembler = new BlockAssembler();
  for (const { chunk } of expandAssistantStream(records)) assembler.push(chunk);
  const replayState = interrupted ? undefined : assembler.replayState();
  const source = { kind: 'model', provider, model, ...(replayState === undefined ? {} : { replayState }) };
  const message = { role: 'assistant', content: identifiedBlocks(interrupted ? assembler.interruptedBlocks() : assembler.blocks()), source };
  return {
    type: 'assistant/message',
    data: { message, stream: records, ...(assembler.usage === undefined ? {} : { usage: assembler.usage }), ...(interrupted ? { interrupted: true } : {}) },
  };
}
