import { createParser } from 'eventsource-parser';
import { foldLiveView, type LiveView } from '#client';
import { benchQuestion, newToken } from '../../rig/ask.ts';
import type { Rig } from '../../rig/rig.ts';
import { quantile, rounded } from '../../rig/statistics.ts';
import { GIVE_UP_AFTER_MS, LIMITS, type Part } from './part.ts';

const SCRIPT = 'bench(n1,k2,t10,m400,e10,d20)';
const DIRECT_SCRIPT = 'bench(n0,m400,d20)';
const DIRECT_READERS = 10;
const CROWD_RUNS = 200;

/**
 * Milliseconds from the write of a token at the model server to its arrival at a reader: at a client of the engine, and at readers that ask the
 * model server themselves, at the same time and in the same process. Nothing else stands in the path of either.
 */
export const agePart: Part = async ({ runs, warm, log }, startRig) => {
  const rig = await startRig();
  for (let i = 0; i < warm; i++) await readRun(rig);
  const few = await measureAges(rig, runs, log);
  const crowd = runs < CROWD_RUNS ? await measureAges(rig, CROWD_RUNS, log) : few;
  const line = ({ runs: count, engine, direct, over }: Ages): string =>
    `age of a token, ${count} runs at once at 20 ms a token, ${engine.tokens} tokens: p50 ${engine.p50} ms, p95 ${engine.p95} ms, p99 ${engine.p99} ms; direct read ${direct.p50}, ${direct.p95}, ${direct.p99} ms; over it ${over.p50}, ${over.p95}, ${over.p99} ms`;
  return {
    lines: [line(few), ...(crowd === few ? [] : [line(crowd)])],
    figures: {
      runs,
      tokens: few.engine.tokens,
      token_latency_p50_ms: few.over.p50,
      token_latency_p95_ms: few.over.p95,
      token_latency_p99_ms: few.over.p99,
      token_age: few,
      token_age_crowd: crowd,
      crowd_p95_over_direct: rounded(crowd.engine.p95 / crowd.direct.p95),
    },
  };
};

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
  const direct = readDirectly(rig);
  const engine = spreadOf((await Promise.all(Array.from({ length: runs }, () => readRun(rig)))).flat());
  const beside = spreadOf(await direct);
  const minus = (which: 'p50' | 'p95' | 'p99'): number => rounded(engine[which] - beside[which], 3);
  return { runs, engine, direct: beside, over: { tokens: engine.tokens, p50: minus('p50'), p95: minus('p95'), p99: minus('p99') } };
}

/** Readers of the model server itself, one after another while the runs write their reports. */
async function readDirectly(rig: Rig): Promise<number[]> {
  return (await Promise.all(Array.from({ length: DIRECT_READERS }, () => readModel(rig)))).flat();
}

const spreadOf = (ages: readonly number[]): Spread => ({ tokens: ages.length, p50: rounded(quantile(ages, 0.5), 3), p95: rounded(quantile(ages, 0.95), 3), p99: rounded(quantile(ages, 0.99), 3) });

/** The clock the model server notes its writes by. */
const sharedNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** When a text had reached a length. */
type Arrivals = { atMs: number; length: number }[];

/** One run, read as a client does: the age of each token of its longest answer. */
async function readRun(rig: Rig): Promise<number[]> {
  const token = newToken();
  const { id } = await rig.client.createRun({ question: benchQuestion(SCRIPT, token), ...LIMITS });
  const answers = new Map<string, { text: string; arrivals: Arrivals }>();
  let view: LiveView | null = null;
  for await (const event of rig.client.events(id, { signal: AbortSignal.timeout(GIVE_UP_AFTER_MS) })) {
    view = foldLiveView(view, event);
    if (event.type !== 'content' || view === null) continue;
    const key = `${view.turn}.${view.attempt}`;
    const answer = answers.get(key) ?? { text: '', arrivals: [] };
    answers.set(key, answer);
    answer.text = view.content;
    answer.arrivals.push({ atMs: sharedNowMs(), length: view.content.length });
  }
  const longest = [...answers.values()].toSorted((a, b) => b.text.length - a.text.length)[0];
  return longest ? agesOf(longest.text, longest.arrivals, await writesOf(rig, token)) : [];
}

async function readModel(rig: Rig): Promise<number[]> {
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
  return agesOf(text, arrivals, await writesOf(rig, token));
}

/** Of the answer with the most events: the report. */
const writesOf = async (rig: Rig, token: string): Promise<number[]> => (await rig.model.writes(token)).toSorted((a, b) => b.length - a.length)[0] ?? [];

/** Every word is an event of the model server; the first event has none. A word has arrived with the first arrival that reaches its end. */
function agesOf(text: string, arrivals: Arrivals, writes: readonly number[]): number[] {
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
