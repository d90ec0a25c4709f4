import { isObject, isWhole, refuseSession, type SessionEvent, type SessionVersion, type SurfaceOperation } from './session-types.ts';
import { dataShapeOf } from './session-vocabulary.ts';

const ENVELOPE: ReadonlySet<string> = new Set(['type', 'seq', 'time', 'data', 'ignorable', 'surfaceOp', 'sourceEventSeqs']);
/** Shorter runs are not worth a pair of their own. */
const RANGE_MEMBERS_MIN = 3;

/** Rising neighbours as `[first, last]` from three on; anything else stays as it is. */
export function encodeSeqs(seqs: readonly number[]): (number | [number, number])[] {
  const encoded: (number | [number, number])[] = [];
  for (let start = 0; start < seqs.length; ) {
    let end = start;
    while (end + 1 < seqs.length && seqs[end + 1] === (seqs[end] ?? 0) + 1) end++;
    const [first, last] = [seqs[start] ?? 0, seqs[end] ?? 0];
    if (end - start + 1 >= RANGE_MEMBERS_MIN) encoded.push([first, last]);
    else encoded.push(...seqs.slice(start, end + 1));
    start = end + 1;
  }
  return encoded;
}

/** The list behind `encodeSeqs`, strictly: each number once, and each earlier than the row's own. */
export function decodeSeqs(value: unknown, ownSeq: number, row: number): number[] {
  if (!Array.isArray(value)) return refuseSession(row, 'has sourceEventSeqs that are not a list');
  const seqs: number[] = [];
  for (const member of value as unknown[]) {
    const [first, last] = Array.isArray(member) && member.length === 2 ? (member as unknown[]) : [member, member];
    if (!isWhole(first) || !isWhole(last) || (Array.isArray(member) && last <= first)) return refuseSession(row, 'has a member of sourceEventSeqs that is neither a number nor a rising range');
    if (last >= ownSeq) refuseSession(row, 'names an event in sourceEventSeqs that does not come before it');
    for (let seq = first; seq <= last; seq++) seqs.push(seq);
  }
  if (new Set(seqs).size !== seqs.length) refuseSession(row, 'names an event twice in sourceEventSeqs');
  return seqs;
}

/**
 * Reads the envelope of one row after the header, whatever its type and data: `seq` is where it stands, and gaps are refused. Throws
 * `SESSION_INVALID`.
 */
export function parseSessionEnvelope(value: unknown, seq: number): SessionEvent {
  const row = seq + 2;
  if (!isObject(value)) return refuseSession(row, 'is not an object');
  const { type, time, data, ignorable, surfaceOp, sourceEventSeqs } = value;
  for (const member in value) if (!ENVELOPE.has(member)) refuseSession(row, `has a member ${JSON.stringify(member)} that no event has`);
  if (typeof type !== 'string') return refuseSession(row, 'has no type');
  if (value['seq'] !== seq) refuseSession(row, `has seq ${JSON.stringify(value['seq'])} where ${seq} must stand`);
  if (!Number.isSafeInteger(time)) refuseSession(row, 'needs a time in whole milliseconds');
  if (!isObject(data)) return refuseSession(row, 'needs data that is an object');
  if (ignorable !== undefined && ignorable !== true) refuseSession(row, 'has an ignorable other than true');
  const event: SessionEvent = { type, seq, time: time as number, data };
  if (ignorable === true) event.ignorable = true;
  if (surfaceOp !== undefined) event.surfaceOp = checkSurface(surfaceOp, row);
  if (sourceEventSeqs !== undefined) event.sourceEventSeqs = decodeSeqs(sourceEventSeqs, seq, row);
  return event;
}

/**
 * Reads one row after the header. `seq` is where it stands; gaps are refused. `strict` also holds type and members of its data against the
 * closed vocabulary of its version, as a migration must; without it whatever is marked `ignorable` passes. Throws `SESSION_INVALID`.
 */
export function parseSessionRow(value: unknown, seq: number, version: SessionVersion, strict: boolean): SessionEvent {
  const event = parseSessionEnvelope(value, seq);
  if (strict || event.ignorable !== true) checkData(event.type, event.data, seq + 2, version);
  return event;
}

/** The row of an event, as it is written. */
export function sessionRow({ type, seq, time, data, ignorable, surfaceOp, sourceEventSeqs }: SessionEvent): Record<string, unknown> {
  return { type, seq, time, data, ignorable, surfaceOp, sourceEventSeqs: sourceEventSeqs && encodeSeqs(sourceEventSeqs) };
}

function checkData(type: string, data: Record<string, unknown>, row: number, version: SessionVersion): void {
  const shape = dataShapeOf(version, type);
  if (!shape) return refuseSession(row, `has the type ${JSON.stringify(type)}, which version ${version} does not know`);
  if (shape === 'open') return;
  for (const member of shape.required) if (!Object.hasOwn(data, member)) refuseSession(row, `(${type}) has no ${member}`);
  for (const member in data) if (!shape.required.includes(member) && !shape.optional.includes(member)) refuseSession(row, `(${type}) has a member ${JSON.stringify(member)} that is not part of it`);
  const isBetweenTurns = data['turn'] === null && type.startsWith('compaction/');
  if (shape.required.includes('turn') && !isBetweenTurns && !isWhole(data['turn'])) refuseSession(row, `(${type}) needs a turn that is a whole number from 0`);
  if (shape.required.includes('step') && !isWhole(data['step'])) refuseSession(row, `(${type}) needs a step that is a whole number from 0`);
}

function checkSurface(value: unknown, row: number): SurfaceOperation {
  if (value === 'append') return value;
  if (isObject(value) && value['op'] === 'replace' && isWhole(value['start']) && isWhole(value['end']) && Object.keys(value).length === 3) return { op: 'replace', start: value['start'], end: value['end'] };
  return refuseSession(row, 'has a surfaceOp that is neither append nor a replace with start and end');
}
