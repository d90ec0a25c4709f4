import { STREAM_CASES } from '../../model-streams/stream-cases.ts';
import type { ModelScript } from '../script.ts';

/** One script for each recorded stream: every answer is that stream, so that any client can be held against it by hand. */
export const STREAM_SCRIPTS: readonly ModelScript[] = STREAM_CASES.map(({ name, rows, protocol, model, events }) => ({
  name: `stream-${name}`,
  description: `${protocol}${model === undefined ? '' : ` as ${model}`}: ${rows}`,
  answer: () => ({ rawEvents: events }),
}));
