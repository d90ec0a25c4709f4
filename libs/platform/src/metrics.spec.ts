import { describe, expect, it } from 'vitest';
import { counter, metricsRegistry } from './metrics.ts';

describe('metrics', () => {
  it('counts values outside the declared set as "other", so that input cannot grow the series', async () => {
    const attempts = counter('spec_attempts_total', 'Attempts.', { outcome: ['completed', 'failed'] });
    attempts.add({ outcome: 'completed' });
    for (let index = 0; index < 50; index++) attempts.add({ outcome: `user-input-${index}` });
    const lines = (await metricsRegistry.metrics()).split('\n').filter((line) => line.startsWith('quaestor_spec_attempts_total{'));
    expect(lines).toEqual(['quaestor_spec_attempts_total{outcome="completed"} 1', 'quaestor_spec_attempts_total{outcome="other"} 50']);
  });
});
