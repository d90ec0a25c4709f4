import { bench } from './bench.ts';
import type { ModelScript } from '../script.ts';

/** The benchmark's story under its own name, for measuring what the supervisor is sent as workers (n) and pages (k) grow. */
export const context: ModelScript = {
  name: 'context',
  description: 'the bench story with short texts, to measure prompt sizes: context(n16,k6)',
  answer: (request) => bench.answer({ ...request, parameters: new Map([['t', '20'], ['m', '200'], ...request.parameters]) }),
};
