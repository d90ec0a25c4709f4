import { performance } from 'node:perf_hooks';
import { createClient, foldLiveView, type LiveView } from '#client';
import type { RunId, StreamRecord } from '#contracts';
import { AssistantStreamAccumulator, expandAssistantStream } from '#domain';
import { zstdCompressSync } from 'node:zlib';
import type { Bench, BenchOptions, BenchResult } from '../bench.ts';
import { benchQuestion, newToken } from '../rig/ask.ts';
import { startCuttableLine } from '../rig/cuttable-line.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { startModelTap, type ModelTap } from '../rig/model-tap.ts';
import { startRig, type Rig } from '../rig/rig.ts';
import { quantile, rounded } from '../rig/statistics.ts';

const DELTAS = 100_000;
const CONCURRENT_RUNS = 50;
const PACED_SCRIPT = 'bench(n1,k2,t10,m400,e10,d20)';
const RESUME_SCRIPT = 'bench(n1,k2,t10,m600,e10,d10)';
const RESUME_READERS = 20;
const CUT_EVERY_MS = 200;
const LIMITS = { budget_credits: 100_000, deadline_seconds: 3_600, source_cap: 1_000, workers: 32 };
const GIVE_UP_AFTER_MS = 180_000;

export const streamsBench: Bench = {
  name: 'streams',
  description: 'live text: age of a token at a client beside a direct read, readers cut and resumed, the compact stream of 100,000 deltas',
  defaults: { runs: CONCURRENT_RUNS, warm: 2 },
  async run(options) {
    const compact = measureCompact();
    const tap = await startModelTap();
    const rig = await startRig({ env: { MODEL_BASE_URL: `${tap.url}/v1` } });
    tap.connect(rig.model.url);
    try {
      const load = watchMachine(rig.allPids);
      for (let i = 0; i < options.warm; i++) await readRun(rig, tap, PACED_SCRIPT);
      const ages = await measureAges(rig, tap, options);
      const resumed = await measureResumes(rig, options);
      return present(compact, ages, resumed, load());
    } finally {
      await rig.stop();
      await tap.close();
    }
  },
};

/** Filled in by whoever measures reading of current artifacts through the version router: overhead at p95, 0.05 for 5 %. Null: not measured. */
const routerOverheadP95 = (): number | null => null;

/** Numbers from 0 to 1, the same in every process: text that does not compress better than a model's. */
function repeatableRandom(): () => number {
  let state = 42;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
}

/** CPU of keeping and reading one attempt of 100,000 texts, and its bytes beside one row of JSON for each. */
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

/** One run, read as a client does: for each text of its longest answer, the milliseconds after a direct reader had it. */
async function readRun(rig: Rig, tap: ModelTap, script: string): Promise<number[]> {
  const token = newToken();
  const { id } = await rig.client.createRun({ question: benchQuestion(script, token), ...LIMITS });
  const answers = new Map<string, { atMs: number; length: number }[]>();
  let view: LiveView | null = null;
  for await (const event of rig.client.events(id, { signal: AbortSignal.timeout(GIVE_UP_AFTER_MS) })) {
    view = foldLiveView(view, event);
    if (event.type !== 'content' || view === null) continue;
    const key = `${view.turn}.${view.attempt}`;
    answers.set(key, [...(answers.get(key) ?? []), { atMs: performance.now(), length: view.content.length }]);
  }
  const longest = [...answers.values()].toSorted((a, b) => (b.at(-1)?.length ?? 0) - (a.at(-1)?.length ?? 0))[0] ?? [];
  return longest.map(({ atMs, length }) => atMs - (tap.directAtMs(token, length) ?? Number.NaN)).filter((ageMs) => !Number.isNaN(ageMs));
}

async function measureAges(rig: Rig, tap: ModelTap, { runs, log }: BenchOptions) {
  log(`${runs} runs at once, 20 ms a token ...`);
  const ages = await Promise.all(Array.from({ length: runs }, () => readRun(rig, tap, PACED_SCRIPT)));
  const all = ages.flat();
  return { runs, tokens: all.length, p50Ms: quantile(all, 0.5), p95Ms: quantile(all, 0.95), p99Ms: quantile(all, 0.99) };
}

interface Resumed {
  resumes: number;
  gaps: number;
  duplicates: number;
  lost: number;
}

/** Readers over lines that are cut all the time, beside one that is not: facts once and dense, text always a beginning of the whole text. */
async function measureResumes(rig: Rig, { operations = 200, log }: BenchOptions): Promise<Resumed> {
  const total: Resumed = { resumes: 0, gaps: 0, duplicates: 0, lost: 0 };
  while (total.resumes < operations) {
    log(`resumes: ${total.resumes} of ${operations} ...`);
    const { id } = await rig.client.createRun({ question: benchQuestion(RESUME_SCRIPT, newToken()), ...LIMITS });
    const line = await startCuttableLine(rig.stack.url);
    const cutting = setInterval(() => line.cut(), CUT_EVERY_MS);
    const direct = follow(rig.stack.url, rig.stack.apiKey, id, () => undefined);
    const cut = Array.from({ length: RESUME_READERS }, () => follow(line.url, rig.stack.apiKey, id, () => total.resumes++));
    const expected = await direct;
    const seen = await Promise.all(cut);
    clearInterval(cutting);
    await line.close();
    for (const reader of seen) {
      total.gaps += reader.gaps;
      total.duplicates += reader.duplicates + [...reader.texts].filter(([key, text]) => !(expected.texts.get(key) ?? '').startsWith(text)).length;
      total.lost += expected.lastSeq - reader.lastSeq;
    }
  }
  return total;
}

interface Seen {
  lastSeq: number;
  gaps: number;
  duplicates: number;
  /** The longest text of each attempt. */
  texts: Map<string, string>;
}

async function follow(baseUrl: string, apiKey: string, id: RunId, onReconnect: () => void): Promise<Seen> {
  const seen: Seen = { lastSeq: 0, gaps: 0, duplicates: 0, texts: new Map() };
  let view: LiveView | null = null;
  for await (const event of createClient({ baseUrl, apiKey }).events(id, { onReconnect, signal: AbortSignal.timeout(GIVE_UP_AFTER_MS) })) {
    if (event.type === 'gap') seen.gaps++;
    if (event.seq !== undefined) {
      if (event.seq <= seen.lastSeq) seen.duplicates++;
      seen.lastSeq = event.seq;
    }
    view = foldLiveView(view, event);
    if (view !== null) seen.texts.set(`${view.turn}.${view.attempt}`, view.content);
  }
  return seen;
}

function present(compact: ReturnType<typeof measureCompact>, ages: Awaited<ReturnType<typeof measureAges>>, resumed: Resumed, machine: ReturnType<ReturnType<typeof watchMachine>>): BenchResult {
  const lines = [
    `age of a token beside a direct read, ${ages.runs} runs at once, ${ages.tokens} texts: p50 ${rounded(ages.p50Ms)} ms, p95 ${rounded(ages.p95Ms)} ms, p99 ${rounded(ages.p99Ms)} ms`,
    `${DELTAS} deltas: kept in ${rounded(compact.accumulateMs)} ms, expanded in ${rounded(compact.expandMs)} ms, ${rounded(compact.bytesRatio * 100, 1)} % of the bytes of one JSON row each`,
    `${resumed.resumes} resumes: ${resumed.gaps} gaps, ${resumed.duplicates} doubled, ${resumed.lost} events lost`,
    describeLoad(machine),
  ];
  const figures = {
    runs: ages.runs,
    tokens: ages.tokens,
    token_latency_p50_ms: rounded(ages.p50Ms, 3),
    token_latency_p95_ms: rounded(ages.p95Ms, 3),
    token_latency_p99_ms: rounded(ages.p99Ms, 3),
    bytes_per_delta_ratio: rounded(compact.bytesRatio, 4),
    accumulate_100k_ms: rounded(compact.accumulateMs),
    expand_100k_ms: rounded(compact.expandMs),
    resumes: resumed.resumes,
    resume_gaps: resumed.gaps,
    resume_duplicates: resumed.duplicates,
    resume_lost: resumed.lost,
    router_overhead_p95: routerOverheadP95(),
    machine,
  };
  return { lines, figures };
}
