import { setTimeout as delay } from 'node:timers/promises';
import type { World } from './world.ts';

export type StoreTarget = 'redis' | 'db';

export interface StoreReceipt {
  at: string;
  target: StoreTarget;
  fault: 'kill' | 'flushall';
  evidence: string;
}

const REDIS_EVERY_MS = 15_000;
const DATABASE_MIN_MS = 5_000;
const DATABASE_MAX_MS = 10_000;

/** Kills or empties Redis every 15 s, and kills the database every 5 to 10 s, as asked; each time they come back on their data. */
export class StoreFaults {
  readonly receipts: StoreReceipt[] = [];
  /** Faults that did not land, with the reason. */
  readonly failed: string[] = [];
  readonly #world: World;
  readonly #targets: readonly StoreTarget[];
  readonly #random: () => number;
  readonly #over = new AbortController();
  #loops: Promise<void>[] = [];

  constructor(world: World, targets: readonly StoreTarget[], random: () => number) {
    this.#world = world;
    this.#targets = targets;
    this.#random = random;
  }

  get count(): number {
    return this.receipts.length;
  }

  start(): void {
    if (this.#targets.includes('redis')) this.#loops.push(this.#every(() => REDIS_EVERY_MS, () => this.#hitRedis()));
    if (this.#targets.includes('db')) this.#loops.push(this.#every(() => DATABASE_MIN_MS + this.#random() * (DATABASE_MAX_MS - DATABASE_MIN_MS), () => this.#hitDatabase()));
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#loops);
  }

  async #every(waitMs: () => number, strike: () => Promise<void>): Promise<void> {
    while (!this.#over.signal.aborted) {
      await delay(waitMs(), undefined, { signal: this.#over.signal }).catch(() => undefined);
      if (this.#over.signal.aborted) return;
      try {
        await strike();
      } catch (error) {
        this.failed.push(error instanceof Error ? error.message : String(error));
      }
    }
  }

  async #hitRedis(): Promise<void> {
    const isFlush = this.#random() < 0.5;
    const evidence = isFlush ? await this.#world.stores.flushRedis() : await this.#world.stores.kill('redis');
    this.#note('redis', isFlush ? 'flushall' : 'kill', evidence);
  }

  async #hitDatabase(): Promise<void> {
    this.#note('db', 'kill', await this.#world.stores.kill('database'));
  }

  #note(target: StoreTarget, fault: StoreReceipt['fault'], evidence: string): void {
    this.receipts.push({ at: new Date().toISOString(), target, fault, evidence });
  }
}
