import { STREAM_CASES, WIRE_WRITERS, type WireAnswer } from '#testing';
import type { Lots } from './lots.ts';

export interface BaseStream {
  protocol: string;
  model: string;
  events: readonly string[];
  /** False for a recorded stream that must fail: of these only the splitting changes nothing. */
  isGood: boolean;
}

/** One is too long to be drawn often; in the other an event after the end marker is part of the case, and moves in front of it when it is moved. */
const LEFT_OUT: readonly string[] = ['endless-repetition', 'after-done'];

const RECORDED: readonly BaseStream[] = STREAM_CASES.filter(({ name }) => !LEFT_OUT.includes(name)).map(({ protocol, events, model, expected }) => ({
  protocol,
  events,
  model: model ?? 'scripted',
  isGood: !('error' in expected),
}));

const WORDS = ['lease ', 'é✓ ', '🜁', '\n', '"quoted" ', 'a\\b ', 'word ', '{', '</tool_call>'];

const cutText = (text: string, lots: Lots): string[] => {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = start + 1 + lots.below(6);
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
};

const words = (lots: Lots): string[] => Array.from({ length: 1 + lots.below(8) }, () => lots.pick(WORDS));

function drawnAnswer(lots: Lots): WireAnswer {
  const calls = Array.from({ length: lots.below(5) }, (_, position) => ({
    id: `call_${position}`,
    name: lots.pick(['find', 'read']),
    pieces: cutText(JSON.stringify({ q: words(lots).join(''), n: lots.below(1_000) }), lots),
  }));
  return { ...(lots.below(3) === 0 && { reasoning: words(lots) }), text: ['So ', ...words(lots)], calls, finish: calls.length > 0 ? 'tool-calls' : 'stop' };
}

/** A recorded stream, or one of an answer that was never recorded. */
export function drawStream(lots: Lots): BaseStream {
  if (lots.below(4) === 0) return lots.pick(RECORDED);
  const writer = lots.pick(WIRE_WRITERS);
  return { protocol: writer.protocol, model: 'scripted', events: writer.events(drawnAnswer(lots)), isGood: true };
}
