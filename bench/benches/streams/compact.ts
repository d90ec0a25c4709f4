import { performance } from 'node:perf_hooks';
import { zstdCompressSync } from 'node:zlib';
import type { StreamRecord } from '#contracts';
import { AssistantStreamAccumulator, expandAssistantStream } from '#domain';
import { quantile, rounded } from '../../rig/statistics.ts';
import type { Part } from './part.ts';

const DELTAS = 100_000;

/** CPU of keeping and reading one attempt of 100,000 texts, and its bytes beside one row of JSON for each. */
export const compactPart: Part = () => {
  const compact = measureCompact();
  return Promise.resolve({
    lines: [`${DELTAS} deltas: kept in ${rounded(compact.accumulateMs)} ms, expanded in ${rounded(compact.expandMs)} ms, ${rounded(compact.bytesRatio * 100, 1)} % of the bytes of one JSON row each`],
    figures: { bytes_per_delta_ratio: rounded(compact.bytesRatio, 4), accumulate_100k_ms: rounded(compact.accumulateMs), expand_100k_ms: rounded(compact.expandMs) },
  });
};

/** Numbers from 0 to 1, the same in every process: text that does not compress better than a model's. */
function repeatableRandom(): () => number {
  let state = 42;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
}

function measureCompact() {
  const random = repeatableRandom();
  const textOf = (): string => `${random().toString(36).slice(2, 3 + Math.floor(random() * 7))} `;
  const chunks = Array.from({ length: DELTAS }, (_, index) => ({ time: 1_780_000_000_000 + index * 20 + Math.floor(random() * 8), chunk: { type: 'text-delta' as const, index: 0, text: textOf() } }));
  const accumulateMs: number[] = [];
  const expandMs: number[] = [];
  let records: readonly StreamRecord[] = [];
  for (let round = 0; round < 5; round++) {
    const startMs = performance.now();
    const accumulator = new AssistantStreamAccumulator();
    for (const { time, chunk } of chunks) accumulator.push(time, chunk);
    records = accumulator.snapshot();
    accumulateMs.push(performance.now() - startMs);
    const expandStartMs = performance.now();
    expandAssistantStream(records);
    expandMs.push(performance.now() - expandStartMs);
  }
  const kept = zstdCompressSync(JSON.stringify(records)).length;
  const plain = chunks.reduce((sum, timed) => sum + JSON.stringify(timed).length, 0);
  return { accumulateMs: quantile(accumulateMs, 0.5), expandMs: quantile(expandMs, 0.5), bytesRatio: kept / plain };
}
