import type { CrashPoint, LoggedRequest } from '#testing';
import type { Ending, Service } from './fleet.ts';
import type { Stores } from './stores.ts';

/** What a process was at when it died. `idle`: it held no run and served nobody. */
export type KillState = 'idle' | 'serving' | 'claimed' | 'stream' | 'tools' | 'committing' | 'handing_on';

/** A run that a dead process held, as its rows stood just after the death. */
export interface HeldRun {
  id: string;
  epoch: number;
  token: string;
  worker: number;
  /** The turn it had settled. */
  turn: number;
  openCalls: number;
  openModelCalls: number;
}

export interface KillRecord {
  id: number;
  at: string;
  atMs: number;
  service: Service;
  title: string;
  pid: number;
  /** `random`, or the point it died at by itself. */
  how: string;
  held: HeldRun[];
  /** Requests a gateway was answering, writes a scratchpad service had open. */
  served: number;
  state: KillState;
  evidence: string;
}

const STATE_OF_POINT: Record<CrashPoint, KillState> = {
  K01: 'serving', K25: 'serving', K03: 'claimed', K04: 'claimed', K05: 'claimed', K06: 'stream', K07: 'stream', K08: 'stream', K09: 'stream',
  K10: 'committing', K11: 'committing', K17: 'committing', K14: 'tools', K29: 'tools', K02: 'handing_on', K12: 'handing_on', K13: 'handing_on',
  K15: 'handing_on', K16: 'handing_on', K18: 'handing_on', K20: 'handing_on', K24: 'handing_on', K27: 'handing_on',
};

/** From what costs most when it is done twice down to what costs nothing. */
const GRAVITY: readonly KillState[] = ['committing', 'tools', 'stream', 'claimed'];

export const tokenIn = (question: string): string => /\brun\.([A-Za-z0-9_-]+)/.exec(question)?.[1] ?? '';

/** What the victim left behind; its rows stay as they were until its lease lapses, so this is the moment of death. */
export async function readHeld(stores: Stores, { slot, pid }: Ending): Promise<HeldRun[]> {
  const rows = await stores.rows(
    `SELECT r.id, r.lease_epoch, r.turn, COALESCE(r.worker_number, 0) AS worker, root.question,
      (SELECT COUNT(*) FROM tool_calls c WHERE c.run_id = r.id AND c.turn = r.turn AND c.status = 'open' AND c.effect <> 'delegate') AS open_calls,
      (SELECT COUNT(*) FROM reservations s WHERE s.run_id = r.id AND s.state = 'open' AND s.operation = 'model') AS open_model_calls
      FROM runs r JOIN runs root ON root.id = r.root_run_id WHERE r.status = 'running' AND r.lease_owner LIKE ?`,
    [`${slot.service}-${pid}-%`],
  );
  return rows.map((row) => ({
    id: row['id'] as string,
    epoch: Number(row['lease_epoch']),
    token: tokenIn(row['question'] as string),
    worker: Number(row['worker']),
    turn: Number(row['turn']),
    openCalls: Number(row['open_calls']),
    openModelCalls: Number(row['open_model_calls']),
  }));
}

/** Scratchpad writes that were sent to the service and have no result. */
export async function countOpenWrites(stores: Stores): Promise<number> {
  const rows = await stores.rows(`SELECT COUNT(*) AS writes FROM tool_calls WHERE status = 'open' AND effect = 'scratchpad-write'`);
  return Number(rows[0]?.['writes'] ?? 0);
}

/** Processes that hold a run at the moment, as their leases name them. */
export async function busyPids(stores: Stores): Promise<Set<number>> {
  const rows = await stores.rowsIfThere(`SELECT DISTINCT lease_owner FROM runs WHERE status = 'running' AND lease_owner IS NOT NULL`);
  return new Set(rows.map((row) => Number(/-(\d+)-[0-9a-f]+$/.exec(row['lease_owner'] as string)?.[1])));
}

/** Told when the model server's log is complete: it knows which model calls were in the air. */
export function stateAtDeath(record: KillRecord, requests: ReadonlyMap<string, readonly LoggedRequest[]>): KillState {
  const named = STATE_OF_POINT[record.how as CrashPoint] as KillState | undefined;
  if (named) return named;
  const states = new Set(record.held.map((run) => stateOfRun(run, record.atMs, requests)));
  return GRAVITY.find((state) => states.has(state)) ?? (record.served > 0 ? 'serving' : 'idle');
}

function stateOfRun(run: HeldRun, atMs: number, requests: ReadonlyMap<string, readonly LoggedRequest[]>): KillState {
  if (run.openCalls > 0) return 'tools';
  if (run.openModelCalls === 0) return 'claimed';
  const asked = (requests.get(placeOf(run.token, run.worker, run.turn + 1)) ?? []).findLast((request) => request.startMs <= atMs);
  if (asked === undefined) return 'claimed';
  return asked.isAnswered && asked.endMs !== null && asked.endMs <= atMs ? 'committing' : 'stream';
}

/** Where a model call stands in its root run. */
export const placeOf = (token: string, worker: number, turn: number): string => `${token}/${worker}/${turn}`;

export function byPlace(requests: readonly LoggedRequest[]): Map<string, LoggedRequest[]> {
  const places = new Map<string, LoggedRequest[]>();
  for (const request of requests) {
    if (request.turn === 0) continue;
    const place = placeOf(request.run, request.worker, request.turn);
    const known = places.get(place);
    if (known) known.push(request);
    else places.set(place, [request]);
  }
  return places;
}
