import { QuaestorError } from '#contracts';

/** Versions of a session artifact: 1 keeps every chunk as a row of its own, 2 keeps the stream with its settlement. */
export type SessionVersion = 1 | 2;
export const SESSION_VERSION = 2;

/** First row of an artifact, of either version. Times are epoch milliseconds. */
export interface SessionHeader {
  id: string;
  createdAt: number;
  isSeeded: boolean;
  /** Version 1 only: events taken over from the parent. Version 2 marks the place with a `session/end-seed` event instead. */
  seedLength: number | null;
  delegationDepth: number;
  cwd?: string;
  parentSession?: string;
  origin?: 'subagent';
  agentPreset?: unknown;
}

export type SurfaceOperation = 'append' | { op: 'replace'; start: number; end: number };
export type SessionData = Record<string, unknown>;

/** One row after the header. `seq` is dense from 0; `sourceEventSeqs` are the earlier events that a surface event was made of. */
export interface SessionEvent {
  type: string;
  seq: number;
  time: number;
  data: SessionData;
  ignorable?: true;
  surfaceOp?: SurfaceOperation;
  sourceEventSeqs?: number[];
}

/** Throws `SESSION_INVALID`: one sentence that names the row, counted from 1 with the header, and what is wrong with it. */
export function refuseSession(row: number, what: string): never {
  throw new QuaestorError('SESSION_INVALID', `Row ${row} of the artifact ${what}.`, { details: { row } });
}

export const isObject = (value: unknown): value is SessionData => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0);
