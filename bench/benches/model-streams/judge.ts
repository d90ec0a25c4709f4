import { QuaestorError } from '#contracts';
import { BlockAssembler, chooseSettlement, type AttemptSettlement } from '#domain';
import { openModelStream } from '#models';

export const TOOL_NAMES: ReadonlySet<string> = new Set(['find', 'read']);

/** How one stream ended: settled by the loop's own rules, or in a way that must not be. */
export type StreamEnd = { kind: 'settled'; settlement: AttemptSettlement } | { kind: 'crashed'; error: unknown };

export const settleWith = (assembler: BlockAssembler, error: unknown): StreamEnd => {
  if (error !== undefined && !(error instanceof QuaestorError)) return { kind: 'crashed', error };
  return { kind: 'settled', settlement: chooseSettlement(assembler, error === undefined ? { kind: 'returned' } : { kind: 'failed', code: error.code }) };
};

/** Reads a stream in this process. */
export function readStream(protocol: string, model: string, pieces: readonly Buffer[]): StreamEnd {
  const assembler = new BlockAssembler();
  try {
    const stream = openModelStream(protocol, { emit: (chunk) => assembler.push(chunk), model, tools: TOOL_NAMES, maxOutputTokens: 4_096 });
    for (const piece of pieces) stream.feed(piece);
    stream.end();
    stream.complete();
    return settleWith(assembler, undefined);
  } catch (error) {
    return settleWith(assembler, error);
  }
}

const isJson = (text: string): boolean => {
  try {
    return text.trim() === '' || JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
};

/** Calls that the loop would execute. */
function callsOf(end: StreamEnd): string[] {
  if (end.kind === 'crashed' || end.settlement.kind !== 'message') return [];
  return end.settlement.blocks.flatMap((block) => (block.type === 'tool-call' && isJson(block.arguments) ? [`${block.id}|${block.name}|${block.arguments}`] : []));
}

function textOf(end: StreamEnd): string | null {
  if (end.kind === 'crashed' || end.settlement.kind !== 'message') return null;
  return end.settlement.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

export interface Verdict {
  /** Text or calls are missing from an answer that was taken for whole. */
  isPartialPromoted: boolean;
  /** Calls that the undamaged stream does not hold. */
  wrongCalls: number;
}

/** Holds a damaged stream's end against that of the undamaged one: it is the same answer, or none. */
export function judge(whole: StreamEnd, damaged: StreamEnd): Verdict {
  const text = textOf(damaged);
  if (text === null) return { isPartialPromoted: false, wrongCalls: 0 };
  const left = callsOf(whole);
  const wrongCalls = callsOf(damaged).filter((call) => {
    const position = left.indexOf(call);
    if (position >= 0) left.splice(position, 1);
    return position < 0;
  }).length;
  return { isPartialPromoted: text !== textOf(whole) || left.length > 0, wrongCalls };
}
