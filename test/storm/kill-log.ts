import { existsSync, readFileSync } from 'node:fs';
import type { LoggedRequest } from '#testing';
import type { Asker } from './asker.ts';
import type { Ending, Slot } from './fleet.ts';
import type { Killer } from './killer.ts';
import { byPlace, countOpenWrites, readHeld, stateAtDeath, type KillRecord } from './kill-record.ts';
import type { RecoveryWatch } from './recovery.ts';
import type { World } from './world.ts';

/** A store that was away so lately may still be why a service ends by itself. */
const AWAY_IS_LATE_MS = 20_000;

interface Parts {
  world: World;
  killer: Killer;
  asker: Asker;
  recovery: RecoveryWatch;
}

/** Every death of the storm with its proof, and every ending that was none. */
export class KillLog {
  readonly records: KillRecord[] = [];
  /** Ends nobody asked for: a crash of the engine itself. */
  readonly unexpected: string[] = [];
  /** Services that ended because they were told to drain, or because a store was away at their start. */
  drained = 0;
  gaveWay = 0;
  readonly #parts: Parts;
  readonly #told = new Set<number>();
  readonly #reading = new Set<Promise<void>>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get recoveryWaiting(): number {
    return this.#parts.recovery.waiting;
  }

  drain(slot: Slot, pid: number): void {
    this.#told.add(pid);
    this.#parts.world.fleet.signal(slot, pid, 'SIGTERM');
  }

  note(ending: Ending): void {
    if (ending.signal === 'SIGKILL') return this.#noteKill(ending);
    const { stores } = this.#parts.world;
    const isStoreAway = ending.atMs - Math.max(stores.lastAwayMs.redis, stores.lastAwayMs.database) < AWAY_IS_LATE_MS;
    if (ending.code === 0 || this.#told.has(ending.pid)) this.drained++;
    else if (isStoreAway && !ending.wasReady) this.gaveWay++;
    else this.unexpected.push(`${ending.slot.title} (pid ${ending.pid}) ended with ${ending.signal ?? `code ${ending.code}`}`);
  }

  /** Waits until what the dead held has been read. */
  async settled(): Promise<void> {
    await Promise.all(this.#reading);
  }

  /** Names each state, once the model server's log is complete. */
  judgeStates(requests: readonly LoggedRequest[]): void {
    const places = byPlace(requests);
    for (const record of this.records) record.state = stateAtDeath(record, places);
  }

  /** Kills whose death or cause nobody can show. */
  get missing(): string[] {
    const named = this.#namedDeaths();
    const causeless = this.records.filter(({ how, pid }) => how !== 'random' && named.get(pid) !== how).map(({ title, pid, how }) => `${title} (pid ${pid}) died at ${how} without a line of its own`);
    return [...causeless, ...[...this.#parts.killer.sent].map(([pid, title]) => `${title} (pid ${pid}) was signalled and not seen to die`)];
  }

  #noteKill(ending: Ending): void {
    const { killer, asker, recovery, world } = this.#parts;
    killer.kills++;
    const isStruck = killer.sent.delete(ending.pid);
    const named = this.#namedDeaths().get(ending.pid);
    const how = named ?? (isStruck ? 'random' : 'nobody');
    const { slot, pid, atMs } = ending;
    const record: KillRecord = {
      id: this.records.length + 1, at: new Date(atMs).toISOString(), atMs, service: slot.service, title: slot.title, pid, how, held: [],
      served: slot.service === 'gateway' ? asker.inFlight : 0, state: 'idle',
      evidence: `waitpid: SIGKILL${named === undefined ? '' : `, its own line at ${named}`}`,
    };
    this.records.push(record);
    const reading = this.#readRows(ending, record, world, recovery).finally(() => this.#reading.delete(reading));
    this.#reading.add(reading);
  }

  async #readRows(ending: Ending, record: KillRecord, world: World, recovery: RecoveryWatch): Promise<void> {
    if (ending.slot.service === 'scratchpad') record.served = await countOpenWrites(world.stores);
    if (ending.slot.service !== 'worker' && ending.slot.service !== 'supervisor') return;
    record.held = await readHeld(world.stores, ending);
    recovery.add(record.held, record.atMs);
  }

  #namedDeaths(): Map<number, string> {
    const file = this.#parts.world.crashReceipts;
    if (!existsSync(file)) return new Map();
    const lines = readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map((line) => JSON.parse(line) as { pid: number; point: string });
    return new Map(lines.map(({ pid, point }) => [pid, point]));
  }
}
