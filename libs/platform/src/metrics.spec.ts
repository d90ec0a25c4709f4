import { describe, expect, it } from 'vitest';
import { counter, metricsRegistry, scrapedGauge } from './metrics.ts';

describe('metrics', () => {
  it('counts values outside the declared set as "other", so that input cannot grow the series', async () => {
    const attempts = counter('spec_attempts_total', 'Attempts.', { outcome: ['completed', 'failed'] });
    attempts.add({ outcome: 'completed' });
    for (let index = 0; index < 50; index++) attempts.add({ outcome: `user-input-${index}` });
    const lines = (await metricsRegistry.metrics()).split('\n').filter((line) => line.startsWith('quaestor_spec_attempts_total{'));
    expect(lines).toEqual(['quaestor_spec_attempts_total{outcome="completed"} 1', 'quaestor_spec_attempts_total{outcome="other"} 50']);
  });

  describe('of a scraped gauge', () => {
    const rooms = scrapedGauge('spec_rooms', 'Rooms.', { floor: ['ground'] });
    const height = scrapedGauge('spec_height_metres', 'Height.', {});
    const scrape = async (name: string) => (await metricsRegistry.metrics()).split('\n').filter((line) => line.startsWith(`quaestor_${name}`));

    it('are read with each scrape, and those of the scrape before are gone', async () => {
      let value = 1;
      const stop = rooms.readFrom(async () => (value < 3 ? [{ labels: { floor: 'ground' }, value: value++ }] : []));
      expect(await scrape('spec_rooms')).toEqual(['quaestor_spec_rooms{floor="ground"} 1']);
      expect(await scrape('spec_rooms')).toEqual(['quaestor_spec_rooms{floor="ground"} 2']);
      expect(await scrape('spec_rooms')).toEqual([]);
      stop();
    });

    it.each([
      ['fails', () => Promise.reject(new Error('down'))],
      ['fails at once', () => { throw new Error('down'); }],
      ['never answers', () => new Promise<never>(() => undefined)],
    ])('are missing while their source %s, which holds nobody up', async (_what, read) => {
      const stopFirst = height.readFrom(async () => [{ labels: {}, value: 7 }]);
      expect(await scrape('spec_height')).toEqual(['quaestor_spec_height_metres 7']);
      const stop = height.readFrom(read);
      const startedMs = performance.now();
      expect(await scrape('spec_height')).toEqual([]);
      expect(performance.now() - startedMs).toBeLessThan(2_000);
      stop();
      stopFirst();
    });

    it('come from the newest source that is not stopped', async () => {
      const stopOldest = height.readFrom(async () => [{ labels: {}, value: 0 }]);
      const stopOld = height.readFrom(async () => [{ labels: {}, value: 1 }]);
      const stopNew = height.readFrom(async () => [{ labels: {}, value: 2 }]);
      stopOld();
      expect(await scrape('spec_height')).toEqual(['quaestor_spec_height_metres 2']);
      stopNew();
      expect(await scrape('spec_height')).toEqual(['quaestor_spec_height_metres 0']);
      stopOldest();
      expect(await scrape('spec_height')).toEqual([]);
    });
  });
});
