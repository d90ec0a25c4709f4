import { AssistantStreamAccumulator, BlockAssembler } from '#domain';
import { openModelStream } from '#models';
import { CHAT_WRITER } from '#testing';
import type { Bench, BenchResult } from '../bench.ts';
import { drawStream } from './model-streams/base-streams.ts';
import { judge, readStream, TOOL_NAMES, type StreamEnd } from './model-streams/judge.ts';
import { Lots } from './model-streams/lots.ts';
import { mutate } from './model-streams/mutate.ts';
import { SocketShare } from './model-streams/socket-share.ts';

const STREAMS = 10_000;
/** One stream in so many goes over a real connection. */
const SOCKET_EVERY = 50;
const HUNG_AFTER_MS = 1_000;
const PROGRESS_EVERY = 100_000;

const CONCURRENT_STREAMS = 200;
const TOKENS_PER_SECOND = 50;
const MEASURED_TOKENS = 200_000;
const TOKENS_PER_ANSWER = 1_000;

/** Streams of every protocol, damaged in every way, through the readers that the product uses. */
export const modelStreamsBench: Bench = {
  name: 'model-streams',
  description: 'damaged model streams: partial answers promoted, crashes, hangs, wrong calls; CPU of putting streams together',
  defaults: { runs: 1, warm: 0 },
  async run({ streams = STREAMS, seed = 1, log }): Promise<BenchResult> {
    const share = new SocketShare();
    await share.open();
    try {
      const counts = await damage(streams, seed, share, log);
      const coreShare = assemblingShare();
      const figures = { streams, seed, ...counts, assembling_core_share: coreShare };
      return { lines: linesOf(figures), figures };
    } finally {
      share.close();
    }
  },
};

interface Counts {
  partial_promoted: number;
  crashes: number;
  hangs: number;
  wrong_calls: number;
  /** Damaged streams that ended as a whole answer all the same. */
  whole: number;
  failed: number;
  over_sockets: number;
  mutations: Record<string, number>;
}

async function damage(streams: number, seed: number, share: SocketShare, log: (line: string) => void): Promise<Counts> {
  const lots = new Lots(seed);
  const counts: Counts = { partial_promoted: 0, crashes: 0, hangs: 0, wrong_calls: 0, whole: 0, failed: 0, over_sockets: 0, mutations: {} };
  for (let number = 1; number <= streams; number++) {
    const base = drawStream(lots);
    const { mutation, pieces } = mutate(base, lots);
    counts.mutations[mutation] = (counts.mutations[mutation] ?? 0) + 1;
    const startedMs = performance.now();
    const isOverSocket = number % SOCKET_EVERY === 0;
    const end = isOverSocket ? await share.play(base.protocol, base.model, pieces) : readStream(base.protocol, base.model, pieces);
    if (isOverSocket) counts.over_sockets++;
    else if (performance.now() - startedMs > HUNG_AFTER_MS) counts.hangs++;
    const faults = count(counts, readStream(base.protocol, base.model, [Buffer.from(base.events.join(''))]), end);
    if (faults > 0) log(`stream ${number} of seed ${seed}: ${base.protocol}, ${mutation}`);
    if (number % PROGRESS_EVERY === 0) log(`${number} streams`);
  }
  return counts;
}

/** Adds one end to the counts and returns how many faults it is. */
function count(counts: Counts, whole: StreamEnd, end: StreamEnd | 'hung'): number {
  if (end === 'hung') return ++counts.hangs && 1;
  if (end.kind === 'crashed') return ++counts.crashes && 1;
  const { isPartialPromoted, wrongCalls } = judge(whole, end);
  counts.partial_promoted += Number(isPartialPromoted);
  counts.wrong_calls += wrongCalls;
  if (end.settlement.kind === 'message') counts.whole++;
  else counts.failed++;
  return Number(isPartialPromoted) + wrongCalls;
}

/** Share of one core that reading, recording and putting together takes at 200 streams of 50 tokens per second, one event per read. */
function assemblingShare(): number {
  const text = Array.from({ length: TOKENS_PER_ANSWER }, (_, token) => `token${token} `);
  const events = CHAT_WRITER.events({ text, finish: 'stop' }).map((event) => Buffer.from(event));
  const read = (): void => {
    const accumulator = new AssistantStreamAccumulator();
    const assembler = new BlockAssembler();
    let timeMs = 0;
    const stream = openModelStream('openai-compatible', { emit: (chunk) => assembler.push(accumulator.push(timeMs++, chunk)), model: 'scripted', tools: TOOL_NAMES, maxOutputTokens: 4_096 });
    for (const event of events) stream.feed(event);
    stream.end();
    stream.complete();
    accumulator.snapshot();
  };
  for (let warm = 0; warm < 20; warm++) read();
  const before = process.cpuUsage();
  for (let answer = 0; answer < MEASURED_TOKENS / TOKENS_PER_ANSWER; answer++) read();
  const { user, system } = process.cpuUsage(before);
  const microsecondsPerToken = (user + system) / MEASURED_TOKENS;
  return Number(((microsecondsPerToken * CONCURRENT_STREAMS * TOKENS_PER_SECOND) / 1_000_000).toFixed(4));
}

const linesOf = (figures: Counts & { streams: number; seed: number; assembling_core_share: number }): string[] => [
  `${figures.streams} streams of seed ${figures.seed}, ${figures.over_sockets} over sockets: ${figures.whole} whole, ${figures.failed} failed`,
  `partial answers promoted ${figures.partial_promoted}, wrong calls ${figures.wrong_calls}, crashes ${figures.crashes}, hangs ${figures.hangs}`,
  `putting together ${CONCURRENT_STREAMS} streams of ${TOKENS_PER_SECOND} tokens per second takes ${(figures.assembling_core_share * 100).toFixed(1)} % of a core`,
];
