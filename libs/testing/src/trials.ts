import { environment } from '#platform';

/** How often a race is tried: as often as the variable `TRIALS` says, for campaigns by hand, else `usual` times. */
export const trials = (usual: number): number => Number(environment()['TRIALS'] ?? usual);
