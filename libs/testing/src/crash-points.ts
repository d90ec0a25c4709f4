import { appendFileSync } from 'node:fs';
import { environment } from '#platform';

/**
 * Every place where a fault test may end a process, by the number the code calls it. A place that says nothing new about this engine is
 * listed in `ABSENT_CRASH_POINTS` with its reason.
 */
export const CRASH_POINTS = {
  K01: 'run row committed, before its job is added',
  K02: 'job added, before its outbox row is marked',
  K03: 'job taken, before the claim',
  K04: 'claim committed with its reservations, before anything is done',
  K05: 'reservation committed, before the request to the provider',
  K06: 'request bytes sent, no headers yet',
  K07: 'headers received, no body yet',
  K08: 'in the middle of streamed text',
  K09: 'in the middle of the arguments of a tool call',
  K10: 'answer complete, before its settlement is sent',
  K11: 'a commit is sent, its reply unknown',
  K12: 'answer and calls committed, before jobs are added',
  K13: 'between the additions to two queues of one fan-out',
  K14: 'effect of a tool done, before its result is committed',
  K15: 'result of a worker committed, before its parent is woken',
  K16: 'work of a job done, before the queue hears of it',
  K17: 'before a scratchpad write, and after its commit',
  K18: 'last results read, before the wake of the waiting run is sent',
  K20: 'end of a root run committed, before readers are told',
  K24: 'sweep has found work without a job, before it is sent',
  K25: 'cancel committed, before anything is stopped',
  K27: 'drain: intake closed, a job still running',
  K29: 'a page is in an extraction child',
} as const;
export type CrashPoint = keyof typeof CRASH_POINTS;

/** Kill points of the fault catalogue that this engine has no room for. */
export const ABSENT_CRASH_POINTS = {
  K19: 'a report is settled and its run ended in one commit',
  K21: 'there are no webhooks',
  K22: 'there are no webhooks',
  K23: 'a reservation is reconciled in one commit, and what a dead process left open is booked in that of the next claim',
  K26: 'migrations are frozen files; the storm kills whole migrations at random instead',
  K28: 'there is no page cache: a page is stored in the commit of its result',
  K30: 'nothing is removed yet but expired keys, one statement at a time',
} as const;

/** Bytes that were handed to a socket leave the process within the turn of the event loop. */
const AFTER_THE_BYTES_LEFT: ReadonlySet<string> = new Set<CrashPoint>(['K06', 'K11']);

const settings = environment();
const [armedName, passText] = (settings['KILL_AT'] ?? '').split(':');
const receipts = settings['CRASH_RECEIPTS'];
const tour = settings['CRASH_TOUR'];
const toured = new Set<string>();
let passesLeft = armedName ? Number(passText ?? '1') : 0;

/**
 * Ends this process as `kill -9` would when `KILL_AT` named this point at its start: `KILL_AT=K07` on the first pass, `KILL_AT=K07:3` on
 * the third. `CRASH_RECEIPTS` names a file that gets a line just before. `CRASH_TOUR` names one that gets a line for each point passed.
 */
export function crashPoint(name: CrashPoint): void {
  if (tour && !toured.has(name)) {
    toured.add(name);
    appendFileSync(tour, `${name} ${process.pid}\n`);
  }
  if (passesLeft === 0 || name !== armedName) return;
  passesLeft -= 1;
  if (passesLeft > 0) return;
  if (AFTER_THE_BYTES_LEFT.has(name)) setImmediate(() => die(name));
  else die(name);
}

function die(name: string): void {
  if (receipts) appendFileSync(receipts, `${JSON.stringify({ point: name, pid: process.pid, at: new Date().toISOString() })}\n`);
  process.kill(process.pid, 'SIGKILL');
}
