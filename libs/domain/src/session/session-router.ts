import { parseSessionHeader, sessionVersionOf } from './session-header.ts';
import { parseSessionRow } from './session-rows.ts';
import { refuseSession, type SessionEvent, type SessionHeader, type SessionVersion } from './session-types.ts';

export interface RestoredSession {
  header: SessionHeader;
  events: SessionEvent[];
}

type Reader = (rows: readonly unknown[]) => RestoredSession;

/** Reads an artifact of the current version from its parsed rows. Streams stay compact: who wants chunks expands them. */
export function restoreCurrentSession(rows: readonly unknown[]): RestoredSession {
  const header = parseSessionHeader(rows[0]);
  const events: SessionEvent[] = [];
  for (let row = 1; row < rows.length; row++) events.push(parseSessionRow(rows[row], row - 1, 2, false));
  return { header, events };
}

const needsMigration: Reader = () => refuseSession(1, 'has version 1: run "quaestor session migrate" on the file first, and read what it writes beside it');

const READERS: Record<SessionVersion, Reader> = { 1: needsMigration, 2: restoreCurrentSession };

/** Reads an artifact of any known version from its parsed rows. Throws `SESSION_INVALID` with one sentence. */
export const restoreSession: Reader = (rows) => READERS[sessionVersionOf(rows[0])](rows);
