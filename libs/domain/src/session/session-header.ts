import { isObject, isWhole, refuseSession, SESSION_VERSION, type SessionHeader, type SessionVersion } from './session-types.ts';

const COMMON = ['type', 'version', 'id', 'createdAt', 'delegationDepth', 'cwd', 'parentSession', 'origin', 'agentPreset'];
const MEMBERS: Record<SessionVersion, ReadonlySet<string>> = { 1: new Set([...COMMON, 'seedLength']), 2: new Set([...COMMON, 'isSeeded']) };
const ROW = 1;

/** The version a first row claims. Throws `SESSION_INVALID` for what is no header, and for a version of another time. */
export function sessionVersionOf(value: unknown): SessionVersion {
  if (!isObject(value) || value['type'] !== 'session') return refuseSession(ROW, 'is not the header of a session artifact');
  const version = value['version'];
  if (version === 1 || version === 2) return version;
  return refuseSession(ROW, `has version ${JSON.stringify(version)}; versions 1 and ${SESSION_VERSION} can be read`);
}

type Check = [member: string, holds: (value: unknown) => boolean, what: string];

const isAbsolutePath = (value: unknown): boolean => typeof value === 'string' && /^(\/|[A-Za-z]:[\\/])/.test(value);
const orAbsent = (holds: (value: unknown) => boolean) => (value: unknown): boolean => value === undefined || holds(value);

const CHECKS: Check[] = [
  ['id', (value) => typeof value === 'string' && value !== '', 'needs an id that is a text'],
  ['createdAt', isWhole, 'needs createdAt in whole milliseconds'],
  ['delegationDepth', isWhole, 'needs a delegationDepth that is a whole number from 0'],
  ['seedLength', orAbsent(isWhole), 'has a seedLength that is not a whole number from 0'],
  ['cwd', orAbsent(isAbsolutePath), 'has a cwd that is not an absolute path'],
  ['parentSession', orAbsent((value) => typeof value === 'string'), 'has a parentSession that is not a text'],
  ['origin', orAbsent((value) => value === 'subagent'), 'has an origin other than subagent'],
];

/** Reads a header strictly: a missing or malformed member, or one that its version does not know, throws `SESSION_INVALID`. */
export function parseSessionHeader(value: unknown): SessionHeader & { version: SessionVersion } {
  const version = sessionVersionOf(value);
  const header = value as Record<string, unknown>;
  const unknown = Object.keys(header).find((member) => !MEMBERS[version].has(member));
  if (unknown !== undefined) refuseSession(ROW, `has a member ${JSON.stringify(unknown)} that a header of version ${version} does not know`);
  for (const [member, holds, what] of CHECKS) if (!holds(header[member])) refuseSession(ROW, what);
  const { isSeeded, seedLength, version: _version, type: _type, ...rest } = header;
  if (version === 2 && typeof isSeeded !== 'boolean') refuseSession(ROW, 'needs isSeeded, true or false');
  return { ...(rest as Pick<SessionHeader, 'id' | 'createdAt' | 'delegationDepth'>), version, isSeeded: isSeeded === true || seedLength !== undefined, seedLength: (seedLength as number | undefined) ?? null };
}

/** The first row of a version 2 artifact. */
export function headerRow({ id, createdAt, isSeeded, delegationDepth, cwd, parentSession, origin, agentPreset }: SessionHeader): Record<string, unknown> {
  return { type: 'session', version: SESSION_VERSION, id, createdAt, isSeeded, delegationDepth, cwd, parentSession, origin, agentPreset };
}
