import { setTimeout as delay } from 'node:timers/promises';
import type { HeldRun } from './kill-record.ts';
import type { Stores } from './stores.ts';

const LOOK_EVERY_MS = 40;

/** One run that changed hands after a death. */
export interface Recovery {
  runId: string;
  killedAt: string;
  afterMs: number;
}

/** Measures, for each run that a dead process held, the time until another process had claimed it. */
export class RecoveryWatch {
  readonly recoveries: Recovery[] = [];
  readonly #waiting = new Map<string, { epoch: number; atMs: number }>();
  readonly #stores: Stores;
  #isOver = false;
  #watching: Promise<void> | undefined;

  constructor(stores: Stores) {
    this.#stores = stores;
  }

  start(): void {
    this.#watching = this.#watch();
  }

  add(held: readonly HeldRun[], atMs: number): void {
    for (const { id, epoch } of held) if (!this.#waiting.has(id)) this.#waiting.set(id, { epoch, atMs });
  }

  get recoveredMs(): number[] {
    return this.recoveries.map(({ afterMs }) => afterMs);
  }

  /** Runs nobody has taken up yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      await delay(LOOK_EVERY_MS);
      if (this.#waiting.size > 0) await this.#look();
    }
  }

  async #look(): Promise<void> {
    const rows = await this.#stores.rows('SELECT id, lease_epoch, ended_at IS NOT NULL AS has_ended FROM runs WHERE id IN (?)', [[...this.#waiting.keys()]]);
    const nowMs = Date.now();
    for (const row of rows) {
      const id = row['id'] as string;
      const waited = this.#waiting.get(id);
      if (!waited || (Number(row['lease_epoch']) <= waited.epoch && Number(row['has_ended']) === 0)) continue;
      this.#waiting.delete(id);
      this.recoveries.push({ runId: id, killedAt: new Date(waited.atMs).toISOString(), afterMs: nowMs - waited.atMs });
    }
  }
}
