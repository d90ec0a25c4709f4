import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { attemptPosition, begunFinishEffect, finishEffect, modelEffect } from './effect-key.ts';

const runId = 'run_0123456789abcdefghijklmnop' as RunId;

it('[Q-06] tells the position of a model call from its reservation, whichever paid for it', () => {
  const position = fc.record({ turn: fc.integer({ min: 1, max: 999 }), attempt: fc.integer({ min: 1, max: 999 }) });
  fc.assert(
    fc.property(position, (at) => {
      expect(attemptPosition(modelEffect(runId, at))).toEqual(at);
      expect(attemptPosition(begunFinishEffect(runId, at))).toEqual(at);
    }),
  );
});

it('[Q-13] takes an allowance whose call has not begun, and a tool call, for no model call', () => {
  expect(attemptPosition(finishEffect(runId))).toBeNull();
  expect(attemptPosition('tool:call_0123456789abcdefghijklmnop')).toBeNull();
});
