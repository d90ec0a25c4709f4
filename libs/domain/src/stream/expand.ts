import { QuaestorError, type ModelChunk, type TimedChunk } from '#contracts';
import { freezeLosslessJson } from './lossless-json.ts';
import { isBlockIndex, isExactGap } from './numbers.ts';

type Members = Record<string, unknown>;

const refuse = (position: number, what: string, cause?: unknown): never => {
  throw new QuaestorError('JOURNAL_INVALID', `Stream record ${position} ${what}; the stored attempt cannot be read.`, { cause, details: { record: position } });
};

const requireKeys = (record: Members, keys: readonly string[], position: number): void => {
  const complete = keys.every((key) => Object.hasOwn(record, key));
  if (!complete || Reflect.ownKeys(record).length !== keys.length) refuse(position, `must have exactly the members ${keys.join(', ')}`);
};

const readMembers = (value: unknown, position: number): readonly string[] => {
  if (!Array.isArray(value) || value.length === 0) return refuse(position, 'needs a non-empty list of texts');
  for (let member = 0; member < value.length; member++) if (typeof value[member] !== 'string') refuse(position, 'has a member that is not a string');
  return value as string[];
};

/** Checks the timing of a run and returns the time of each member. */
const readTimes = (record: Members, count: number, position: number): number[] => {
  const { time0, dt } = record;
  if (!Number.isSafeInteger(time0)) return refuse(position, 'needs a time0 that is a safe integer');
  if (!Array.isArray(dt) || dt.length !== count - 1) return refuse(position, 'needs one time gap less than it has members');
  const times = [time0 as number];
  let time = time0 as number;
  for (let gapIndex = 0; gapIndex < dt.length; gapIndex++) {
    const gap = dt[gapIndex] as number;
    const next = time + gap;
    if (!Number.isSafeInteger(next) || !isExactGap(time, gap, next)) refuse(position, 'has a time that is not a safe integer');
    times.push(next);
    time = next;
  }
  return times;
};

const readIndex = (record: Members, position: number): number => (isBlockIndex(record['index']) ? record['index'] : refuse(position, 'needs a non-negative integer index'));

const readName = (record: Members, key: 'id' | 'name', position: number): string => {
  const value = record[key];
  return typeof value === 'string' && value !== '' ? value : refuse(position, `needs a non-empty ${key}`);
};

const emit = (output: TimedChunk[], times: number[], chunkOf: (member: number) => ModelChunk): void => {
  for (let member = 0; member < times.length; member++) output.push(Object.freeze({ time: times[member] ?? 0, chunk: Object.freeze(chunkOf(member)) }));
};

const expandText = (record: Members, type: 'text-delta' | 'reasoning-delta', position: number, output: TimedChunk[]): void => {
  requireKeys(record, ['type', 'time0', 'index', 'dt', 'texts'], position);
  const index = readIndex(record, position);
  const texts = readMembers(record['texts'], position);
  emit(output, readTimes(record, texts.length, position), (member) => ({ type, index, text: texts[member] ?? '' }));
};

const expandToolCall = (record: Members, position: number, output: TimedChunk[]): void => {
  const named = Object.hasOwn(record, 'name');
  requireKeys(record, ['type', 'time0', 'index', 'dt', 'id', ...(named ? ['name'] : []), 'args'], position);
  const index = readIndex(record, position);
  const id = readName(record, 'id', position);
  const name = named ? readName(record, 'name', position) : undefined;
  const args = readMembers(record['args'], position);
  const times = readTimes(record, args.length, position);
  if (name === undefined) emit(output, times, (member) => ({ type: 'tool-call-delta', index, id, argumentsDelta: args[member] ?? '' }));
  else emit(output, times, (member) => ({ type: 'tool-call-delta', index, id, name, argumentsDelta: args[member] ?? '' }));
};

const expandChunk = (record: Members, position: number, output: TimedChunk[]): void => {
  requireKeys(record, ['type', 'time', 'chunk'], position);
  const { time, chunk } = record;
  if (!Number.isSafeInteger(time)) refuse(position, 'needs a time that is a safe integer');
  if (typeof chunk !== 'object' || chunk === null || Array.isArray(chunk)) refuse(position, 'needs a chunk that is an object');
  try {
    output.push(Object.freeze({ time: time as number, chunk: freezeLosslessJson(chunk) as ModelChunk }));
  } catch (error) {
    refuse(position, 'has a chunk that is not plain JSON', error);
  }
};

/**
 * The exact timed sequence a compact stream was made from, one delta per member, deep-frozen and detached from `records`. Strict: an
 * unknown type, a missing or extra member, or a value out of range throws `JOURNAL_INVALID` naming the record. The vocabulary inside a
 * raw chunk is not checked here.
 */
export function expandAssistantStream(records: readonly unknown[]): readonly TimedChunk[] {
  const output: TimedChunk[] = [];
  for (const [position, value] of records.entries()) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(position, 'must be an object');
    const record = value as Members;
    switch (record['type']) {
      case 'text-chunks':
        expandText(record, 'text-delta', position, output);
        break;
      case 'reasoning-chunks':
        expandText(record, 'reasoning-delta', position, output);
        break;
      case 'tool-call-chunks':
        expandToolCall(record, position, output);
        break;
      case 'chunk':
        expandChunk(record, position, output);
        break;
      default:
        refuse(position, 'has an unknown type');
    }
  }
  return Object.freeze(output);
}
