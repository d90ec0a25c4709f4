import type { Mutant } from '../mutant.ts';
import { ANSWER_MUTANTS } from './answers.ts';
import { ATTEMPT_MUTANTS } from './attempts.ts';
import { LEASE_MUTANTS } from './leases.ts';
import { MONEY_MUTANTS } from './money.ts';
import { PLACE_MUTANTS } from './places.ts';
import { QUEUE_MUTANTS } from './queues.ts';
import { RESULT_MUTANTS } from './results.ts';

/** Every guard that can be taken out. A new guard of a promise gets a line in one of these files. */
export const MUTANTS: readonly Mutant[] = [...LEASE_MUTANTS, ...RESULT_MUTANTS, ...ANSWER_MUTANTS, ...ATTEMPT_MUTANTS, ...MONEY_MUTANTS, ...QUEUE_MUTANTS, ...PLACE_MUTANTS];
