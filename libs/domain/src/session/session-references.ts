import { isObject, isWhole, refuseSession, type SessionData, type SessionEvent } from './session-types.ts';

/** New number of an old one; undefined where the event it named is gone. */
export type SeqMap = (seq: number) => number | undefined;

/**
 * Every place in an artifact that names another event, and no more: `sourceEventSeqs`, the ends of a `replace`, `command/done`, compactions
 * and titles. Each is rewritten by `mapped`. A reference to an event that is gone throws `SESSION_INVALID`; texts, and the numbers of other
 * sessions, stay byte for byte.
 */
export function remapReferences(event: SessionEvent, mapped: SeqMap, row: number): SessionEvent {
  const one = (seq: unknown): number => {
    const next = isWhole(seq) ? mapped(seq) : undefined;
    return next ?? refuseSession(row, `(${event.type}) refers to event ${JSON.stringify(seq)}, which is no event of its own any more`);
  };
  const remapped: SessionEvent = { ...event, data: remapData(event, one, row) };
  if (event.sourceEventSeqs) remapped.sourceEventSeqs = event.sourceEventSeqs.map(one);
  if (isObject(event.surfaceOp)) remapped.surfaceOp = { op: 'replace', start: one(event.surfaceOp.start), end: one(event.surfaceOp.end) };
  return remapped;
}

type MapOne = (seq: unknown) => number;

function remapData({ type, data }: SessionEvent, one: MapOne, row: number): SessionData {
  switch (type) {
    case 'command/done':
      return data['sourceEventSeq'] === undefined ? data : { ...data, sourceEventSeq: one(data['sourceEventSeq']) };
    case 'compaction/prune':
    case 'compaction/summary':
      return { ...data, shadowedRange: range(data['shadowedRange'], one, row), shadowedSeqs: list(data['shadowedSeqs'], one, row) };
    case 'session/title':
    case 'session/title-llm-request':
      return { ...data, messageSeqs: list(data['messageSeqs'], one, row) };
    default:
      return data;
  }
}

const list = (value: unknown, one: MapOne, row: number): number[] => (Array.isArray(value) ? value.map(one) : refuseSession(row, 'has a list of events that is not a list'));

const range = (value: unknown, one: MapOne, row: number): SessionData =>
  isObject(value) ? { ...value, start: one(value['start']), end: one(value['end']) } : refuseSession(row, 'has a shadowedRange without start and end');
