import { environment } from '#platform';

export { crashPoint } from './crash-points.ts';

/**
 * Bugs that can be planted in the engine to prove that a check sees them. Only a process started with `--conditions=planted` resolves this
 * module; every other one gets `planted-none.ts`, where nothing can be switched on.
 */
export const PLANTED_FAULTS = ['swap-thread-ids', 'partial-is-success', 'forget-lost-attempts'] as const;
export type PlantedFault = (typeof PLANTED_FAULTS)[number];

const chosen = new Set((environment()['PLANTED_FAULT'] ?? '').split(',').filter(Boolean));

/** Whether this bug was asked for by `PLANTED_FAULT`, a comma list. */
export const planted = (name: string): boolean => chosen.has(name);
