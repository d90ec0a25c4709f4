import { QuaestorError } from '#contracts';
import type { CallRecord } from '../ports/journal.ts';

/** A call that was executing in this many processes when they died is run alone from then on, in a process of its own. */
export const SUSPECT_DEATHS = 2;
/** The last death is that of the call's own process: nothing else can have caused it. */
export const DEATHS_MAX = SUSPECT_DEATHS + 1;

type CallState = Pick<CallRecord, 'status' | 'effect' | 'turn' | 'deaths'>;

/**
 * Whether the death of its run's process counts against this call: it was begun and not settled, and it executed in that very
 * process. A delegation is carried out by a run of its own and a note is written by its service, so neither is ever the innermost call. A
 * suspect that ran alone is not blamed for the death of the process beside it.
 */
export const isBlamed = ({ status, effect, turn, deaths }: CallState, newestTurn: number): boolean =>
  status === 'open' && turn === newestTurn && (effect === 'read' || effect === 'scratchpad-read') && deaths < SUSPECT_DEATHS;

/** What a call ends with whose own process died too. */
export const killedItsProcess = (): QuaestorError =>
  new QuaestorError('TOOL_KILLED_PROCESS', `This call ended the process that carried it out ${DEATHS_MAX} times and is not tried again: go on without it.`);
