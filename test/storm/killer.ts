import { setTimeout as delay } from 'node:timers/promises';
import { CRASH_POINTS, type CrashPoint } from '#testing';
import type { Fleet, Service, Slot } from './fleet.ts';

const WAIT_MIN_MS = 50;
const WAIT_MAX_MS = 800;
/** Kills that come by themselves at a named point: this share of all processes is started armed; all of them when points were named. */
const ARMED_SHARE = 0.4;
/** Fewer living processes than this make no progress that could be disturbed. */
const READY_MIN = 4;
const NOBODY_READY_WAIT_MS = 20;

/** The services that pass each point; `KILL_AT` at another would never strike. */
const SERVICES_OF_POINT: Record<CrashPoint, readonly Service[]> = {
  K01: ['gateway'], K25: ['gateway'], K02: ['gateway', 'worker', 'supervisor'], K03: ['worker', 'supervisor'], K04: ['worker', 'supervisor'],
  K05: ['worker', 'supervisor'], K06: ['worker', 'supervisor'], K07: ['worker', 'supervisor'], K08: ['worker', 'supervisor'],
  K09: ['worker', 'supervisor'], K10: ['worker', 'supervisor'], K11: ['worker', 'supervisor', 'scratchpad', 'gateway'], K12: ['worker', 'supervisor'],
  K13: ['supervisor'], K14: ['worker', 'supervisor'], K15: ['worker'], K16: ['worker', 'supervisor', 'scratchpad'], K17: ['scratchpad'],
  K18: ['supervisor'], K20: ['supervisor'], K24: ['supervisor'], K27: ['worker', 'supervisor'], K29: ['worker'],
};
/** Points that are passed for every token or statement: a later pass is as likely. */
const PASSES_MAX: Partial<Record<CrashPoint, number>> = { K08: 120, K09: 60, K11: 30, K03: 12, K04: 12, K16: 12, K14: 10, K02: 6 };
const PASSES_DEFAULT = 6;
/** So long a process that is to die by itself is left alone. */
const SPARED_MS = 4_000;
/** How often the victim is one of those that hold a run, if any does: a kill of somebody who does nothing shows little. */
const BUSY_SHARE = 0.6;
/** Dies only when it is told to drain, so the killer asks it to. */
const DRAIN_POINT = 'K27';
const WEIGHTS: Record<Service, number> = { worker: 3, supervisor: 3, gateway: 1, scratchpad: 1 };

export interface KillerOptions {
  random: () => number;
  kills: number;
  /** Points to use; null is all of them. */
  points: readonly CrashPoint[] | null;
  /** False holds the killer back: it is ahead of the runs it is to hit. */
  mayKill(killsSoFar: number): boolean;
  /** Processes that hold a run just now. */
  busyPids(): Promise<ReadonlySet<number>>;
}

/** Decides who dies, when, and where: from one seeded generator, in the order in which processes start and fall. */
export class Killer {
  readonly #options: KillerOptions;
  /** Deaths by SIGKILL so far, of whichever cause. */
  kills = 0;
  /** Signals that were sent and whose death has not been seen. */
  readonly sent = new Map<number, string>();
  #isOver = false;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  /** `KILL_AT` for a process that is about to start, or null. */
  arm(slot: Slot): string | null {
    const { random, points } = this.#options;
    if (this.#isOver || random() >= (points ? 1 : ARMED_SHARE)) return null;
    const fitting = (points ?? (Object.keys(CRASH_POINTS) as CrashPoint[])).filter((point) => SERVICES_OF_POINT[point].includes(slot.service));
    const point = fitting[Math.floor(random() * fitting.length)];
    return point === undefined ? null : `${point}:${1 + Math.floor(random() * (PASSES_MAX[point] ?? PASSES_DEFAULT))}`;
  }

  /** Until so many processes have died. */
  async run(fleet: Fleet): Promise<void> {
    const { random, kills, mayKill } = this.#options;
    while (this.kills < kills) {
      await delay(WAIT_MIN_MS + random() * (WAIT_MAX_MS - WAIT_MIN_MS));
      while (this.kills < kills && (fleet.ready.length < READY_MIN || !mayKill(this.kills))) await delay(NOBODY_READY_WAIT_MS);
      if (this.kills < kills) await this.#strike(fleet);
    }
    this.#isOver = true;
  }

  async #strike(fleet: Fleet): Promise<void> {
    const isForBusy = this.#options.random() < BUSY_SHARE;
    const busy = isForBusy ? await this.#options.busyPids() : new Set<number>();
    const open = fleet.ready.filter((slot) => !isSpared(slot) && hasHeir(slot, fleet.ready));
    const working = open.filter(({ pid }) => pid !== undefined && busy.has(pid));
    const victim = this.#choose(working.length > 0 ? working : open);
    if (victim?.pid === undefined) return;
    const { pid } = victim;
    const isDrained = isToldToDrain(victim);
    if (fleet.signal(victim, pid, isDrained ? 'SIGTERM' : 'SIGKILL') && !isDrained) this.sent.set(pid, victim.title);
  }

  #choose(ready: readonly Slot[]): Slot | undefined {
    const total = ready.reduce((sum, { service }) => sum + WEIGHTS[service], 0);
    let mark = this.#options.random() * total;
    for (const slot of ready) {
      mark -= WEIGHTS[slot.service];
      if (mark < 0) return slot;
    }
    return ready.at(-1);
  }
}

/** A worker or supervisor is struck while another one lives that can take over; both may still die at their named points. */
const hasHeir = (slot: Slot, ready: readonly Slot[]): boolean =>
  (slot.service !== 'worker' && slot.service !== 'supervisor') || ready.some((other) => other !== slot && other.service === slot.service);

const isToldToDrain = ({ armed }: Slot): boolean => armed?.startsWith(DRAIN_POINT) === true;
const isSpared = (slot: Slot): boolean => slot.armed !== null && !isToldToDrain(slot) && performance.now() - slot.readyAtMs < SPARED_MS;
