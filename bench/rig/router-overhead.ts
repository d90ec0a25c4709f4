import { restoreCurrentSession, restoreSession } from '#domain';
import { quantile, rounded } from './statistics.ts';

export interface RouterOverheadOptions {
  /** Whole repetitions. Default 3. */
  runs?: number;
  /** Pairs before measuring, in each repetition. Default 100. */
  warm?: number;
  /** Measured pairs of each repetition. Default 600. */
  pairs?: number;
  /** Rows of the artifact. Default 1,000. */
  rows?: number;
}

export interface RouterOverhead {
  /** How much longer reading through the version router takes than reading directly: 0.05 is five percent. Pooled over all repetitions. */
  median: number;
  p95: number;
  /** The worst 95th percentile of a single repetition. */
  worstP95: number;
  pairs: number;
}

const WARM_DEFAULT = 100;
const PAIRS_DEFAULT = 600;
const RUNS_DEFAULT = 3;
const ROWS_DEFAULT = 1_000;
const TRIES = 5;
const DELTAS_PER_STREAM = 200;

/**
 * Reads a current session artifact from rows that are parsed already, through the version router and directly, in pairs of alternating order.
 * No file is touched: only what the router adds is measured.
 */
export function measureRouterOverhead({ runs = RUNS_DEFAULT, warm = WARM_DEFAULT, pairs = PAIRS_DEFAULT, rows = ROWS_DEFAULT }: RouterOverheadOptions = {}): RouterOverhead {
  const artifact = artifactOf(rows);
  const routed: number[] = [];
  const direct: number[] = [];
  let worstP95 = -Infinity;
  // the compiler makes up its mind about inlining only after some thousand calls; until then it favours one side by 5 %
  for (let run = 0; run < runs; run++) measurePairs(artifact, warm, pairs);
  for (let run = 0; run < runs; run++) {
    const [routedHere, directHere] = measurePairs(artifact, warm, pairs);
    worstP95 = Math.max(worstP95, overhead(routedHere, directHere, 0.95));
    routed.push(...routedHere);
    direct.push(...directHere);
  }
  return { median: rounded(overhead(routed, direct, 0.5), 4), p95: rounded(overhead(routed, direct, 0.95), 4), worstP95: rounded(worstP95, 4), pairs: routed.length };
}

function measurePairs(artifact: readonly unknown[], warm: number, pairs: number): [number[], number[]] {
  const routed: number[] = [];
  const direct: number[] = [];
  for (let pair = -warm; pair < pairs; pair++) {
    const isRoutedFirst = pair % 2 === 0;
    const first = timeMs(() => (isRoutedFirst ? restoreSession : restoreCurrentSession)(artifact));
    const second = timeMs(() => (isRoutedFirst ? restoreCurrentSession : restoreSession)(artifact));
    if (pair < 0) continue;
    routed.push(isRoutedFirst ? first : second);
    direct.push(isRoutedFirst ? second : first);
  }
  return [routed, direct];
}

/** The fastest of a few tries: on a busy machine a single one tells more about the neighbours. */
function timeMs(work: () => unknown): number {
  let fastestMs = Infinity;
  for (let tries = 0; tries < TRIES; tries++) {
    const startedMs = performance.now();
    work();
    fastestMs = Math.min(fastestMs, performance.now() - startedMs);
  }
  return fastestMs;
}

const overhead = (routed: readonly number[], direct: readonly number[], share: number): number => quantile(routed, share) / quantile(direct, share) - 1;

/** A session of many answers with their streams. */
function artifactOf(rows: number): unknown[] {
  const texts = Array.from({ length: DELTAS_PER_STREAM }, (_, position) => `word${position} `);
  const stream = [{ type: 'text-chunks', time0: 0, index: 0, dt: texts.slice(1).map(() => 20), texts }];
  const message = { role: 'assistant', content: [{ type: 'text', text: texts.join('') }] };
  const header = { type: 'session', version: 2, id: 'bench', createdAt: 0, isSeeded: false, delegationDepth: 0 };
  return [header, ...Array.from({ length: rows }, (_, seq) => ({ type: 'assistant/message', seq, time: seq, surfaceOp: 'append', data: { turn: 0, step: 0, message, stream } }))];
}
