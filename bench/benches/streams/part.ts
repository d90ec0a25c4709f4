import type { BenchOptions, BenchResult } from '../../bench.ts';
import type { Rig } from '../../rig/rig.ts';

/** One figure of the bench that can be taken alone. `rig` starts the stack they share, when it is first asked for. */
export type Part = (options: BenchOptions, rig: () => Promise<Rig>) => Promise<BenchResult>;

/** Limits no bench may meet: they are not what is measured. */
export const LIMITS = { budget_credits: 100_000, deadline_seconds: 3_600, source_cap: 1_000, workers: 32 };
/** A run that has not ended by then is given up: a bench ends even when the engine does not. */
export const GIVE_UP_AFTER_MS = 180_000;
