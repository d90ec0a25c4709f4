import { createParser } from 'eventsource-parser';
import { foldLiveView, type LiveView } from '#client';
import { benchQuestion, newToken } from '../../rig/ask.ts';
import type { Rig } from '../../rig/rig.ts';
import { quantile, rounded } from '../../rig/statistics.ts';
import { GIVE_UP_AFTER_MS, LIMITS, type Part } from './part.ts';

const SCRIPT = 'bench(n1,k2,t10,m400,e10,d20)';
/** Begins when the runs are at their reports. */
const DIRECT_SCRIPT = 'bench(n0,m400,d20,f2500)';
const DIRECT_READERS = 10;
const CROWD_RUNS = 200;

/**
 * Milliseconds from the write of a token at the model server to its arrival at a reader: at a client of the engine, and at readers that ask the
 * model server themselves, at the same time and in the same process. Nothing else stands in the path of either.
 */
export const agePart: Part = async ({ runs, warm, log }, startRig) => {
  const rig = await startRig();
  for (let i = 0; i < warm; i++) await readRun(rig);
  const ages = await measureAges(rig, runs, log);
  const { over } = ages;
  return { lines: [lineOf(ages)], figures: { runs, tokens: over.tokens, token_latency_p50_ms: over.p50, token_latency_p95_ms: over.p95, token_latency_p99_ms: over.p99, token_age: ages } };
};

/** The same with far more runs than two cores can serve at leisure. */
export const crowdPart: Part = async ({ log }, startRig) => {
  const ages = await measureAges(await startRig(), CROWD_RUNS, log);
  return { lines: [lineOf(ages)], figures: { token_age_crowd: ages, crowd_p95_over_direct: rounded(ages.engine.p95 / ages.direct.p95) } };
};

const lineOf = ({ runs, engine, direct, over }: Ages): string =>
  `age of a token, ${runs} runs at once at 20 ms a token, ${engine.tokens} tokens: p50 ${engine.p50} ms, p95 ${engine.p95} ms, p99 ${engine.p99} ms; direct read ${direct.p50}, ${direct.p95}, ${direct.p99} ms; over it ${over.p50}, ${over.p95}, ${over.p99} ms`;

interface Spread {
  tokens: number;
  p50: number;
  p95: number;
  p99: number;
}

interface Ages {
  runs: number;
  engine: Spread;
  direct: Spread;
  /** How much older a token is than at a direct reader, quantile by quantile. */
  over: Spread;
}

async function measureAges(rig: Rig, runs: number, log: (line: string) => void): Promise<Ages> {
  log(`${runs} runs at once, 20 ms a token ...`);
  const [directly, followed] = await Promise.all([all(DIRECT_READERS, () => readModel(rig)), all(runs, () => readRun(rig))]);
  // when all is over: asking for the times of writing must delay nobody
  const direct = spreadOf(await agesOfAll(rig, directly));
  const engine = spreadOf(await agesOfAll(rig, followed));
  const minus = (which: 'p50' | 'p95' | 'p99'): number => rounded(engine[which] - direct[which], 3);
  return { runs, engine, direct, over: { tokens: engine.tokens, p50: minus('p50'), p95: minus('p95'), p99: minus('p99') } };
}

const all = <Result>(count: number, work: () => Promise<Result>): Promise<Result[]> => Promise.all(Array.from({ length: count }, work));

const spreadOf = (ages: readonly number[]): Spread => ({ tokens: ages.length, p50: rounded(quantile(ages, 0.5), 3), p95: rounded(quantile(ages, 0.95), 3), p99: rounded(quantile(ages, 0.99), 3) });

/** The clock the model server notes its writes by. */
const sharedNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** When a text had reached a length. */
type Arrivals = { atMs: number; length: number }[];

interface Read {
  token: string;
  text: string;
  arrivals: Arrivals;
}

/** One run, read as a client does: its longest answer. */
async function readRun(rig: Rig): Promise<Read> {
  const token = newToken();
  const { id } = await rig.client.createRun({ question: benchQuestion(SCRIPT, token), ...LIMITS });
  const answers = new Map<string, Read>();
  let view: LiveView | null = null;
  for await (const event of rig.client.events(id, { signal: AbortSignal.timeout(GIVE_UP_AFTER_MS) })) {
    view = foldLiveView(view, event);
    if (event.type !== 'content' || view === null) continue;
    const key = `${view.turn}.${view.attempt}`;
    const answer = answers.get(key) ?? { token, text: '', arrivals: [] };
    answers.set(key, answer);
    answer.text = view.content;
    answer.arrivals.push({ atMs: sharedNowMs(), length: view.content.length });
  }
  const longest = [...answers.values()].toSorted((a, b) => b.text.length - a.text.length)[0];
  return longest ?? { token, text: '', arrivals: [] };
}

async function readModel(rig: Rig): Promise<Read> {
  const token = newToken();
  const messages = [{ role: 'user', content: `${DIRECT_SCRIPT} run.${token}` }];
  const response = await fetch(`${rig.model.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer scripted' },
    body: JSON.stringify({ model: 'scripted', stream: true, messages }),
  });
  let text = '';
  const arrivals: Arrivals = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const { choices } = JSON.parse(data) as { choices?: { delta?: { content?: string | null } }[] };
      const content = choices?.[0]?.delta?.content ?? '';
      if (content === '') return;
      text += content;
      arrivals.push({ atMs: sharedNowMs(), length: text.length });
    },
  });
  const decoder = new TextDecoder();
  for await (const part of response.body ?? []) parser.feed(decoder.decode(part as Uint8Array, { stream: true }));
  return { token, text, arrivals };
}

/** Of the answer with the most events: the report. */
const writesOf = async (rig: Rig, token: string): Promise<number[]> => (await rig.model.writes(token)).toSorted((a, b) => b.length - a.length)[0] ?? [];

async function agesOfAll(rig: Rig, reads: readonly Read[]): Promise<number[]> {
  const ages: number[][] = [];
  for (const read of reads) ages.push(agesOf(read, await writesOf(rig, read.token)));
  return ages.flat();
}

/** Every word is an event of the model server; the first event has none. A word has arrived with the first arrival that reaches its end. */
function agesOf({ text, arrivals }: Read, writes: readonly number[]): number[] {
  const ages: number[] = [];
  let end = 0;
  let next = 0;
  for (const [position, word] of (text.match(/\S+\s*/g) ?? []).entries()) {
    end += word.length;
    while (arrivals[next] && arrivals[next]!.length < end) next++;
    const arrival = arrivals[next];
    const writtenMs = writes[position + 1];
    if (arrival && writtenMs !== undefined) ages.push(arrival.atMs - writtenMs);
  }
  return ages;
}
