import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EventEnvelope, RunId } from '#contracts';
import { createClient, foldLiveView, type LiveView } from '#client';
import { countCalls, FaultyRedis, pageUrl, type ModelScript, type ScriptRequest } from '#testing';
import type { ServiceName } from '../../apps/cli/src/stack/index.ts';
import { WholeStack } from './spec-support/whole-stack.ts';

const CHUNK_MS = 20;
const WORDS = 150;
const FOLLOW_TIMEOUT_MS = 60_000;
let scenario: WholeStack;
let redis: FaultyRedis;

/** No word comes twice: a text that was doubled anywhere is not a beginning of it. */
const reportOf = (request: ScriptRequest): string => `${Array.from({ length: WORDS }, (_, index) => `word${index}`).join(' ')} [source](${pageUrl(request, 0, 1)}).`;

const script: ModelScript = {
  name: 'telling',
  description: 'one worker, and a report that is written slowly: telling()',
  answer(request) {
    if (request.role === 'worker') return request.calls.length > 0 ? { text: 'Done.' } : { calls: [{ name: 'read_web_page', arguments: { url: pageUrl(request, 0, 1) } }] };
    if (countCalls(request, 'delegate_research_task') === 0) return { calls: [{ name: 'delegate_research_task', arguments: { task: `[task 0] ${request.carried}` } }] };
    return { text: reportOf(request), chunkDelayMs: CHUNK_MS };
  },
};

beforeAll(async () => {
  redis = await FaultyRedis.open();
  scenario = await WholeStack.open({ scripts: [script], redisUrl: redis.url, env: { RESEND_AFTER_MS: '2000' } });
}, 90_000);
afterAll(async () => {
  expect(await scenario.problems()).toEqual([]);
  await scenario.close();
  await redis.close();
}, 60_000);

/** What one client was shown. */
class Watcher {
  readonly durable: number[] = [];
  /** Of each attempt in the order they were shown: every text that stood on the screen. */
  readonly screens = new Map<string, string[]>();
  last: EventEnvelope | undefined;
  view: LiveView | null = null;
  readonly done: Promise<void>;

  constructor(id: RunId) {
    this.done = this.#follow(id);
  }

  async #follow(id: RunId): Promise<void> {
    const { url: baseUrl, apiKey } = scenario.stack;
    for await (const event of createClient({ baseUrl, apiKey }).events(id, { signal: AbortSignal.timeout(FOLLOW_TIMEOUT_MS) })) {
      this.last = event;
      if (event.seq !== undefined) this.durable.push(event.seq);
      this.view = foldLiveView(this.view, event);
      if (this.view === null) continue;
      const key = `${this.view.turn}.${this.view.attempt}`;
      this.screens.set(key, [...(this.screens.get(key) ?? []), this.view.content]);
    }
  }

  /** Nothing came twice, nothing was skipped, and at no moment did a text stand there that is not a beginning of the report. */
  expectTrue(report: string): void {
    expect(this.durable).toEqual(this.durable.map((_, index) => index + 1));
    expect([...this.screens.values()].flat().filter((text) => !report.startsWith(text))).toEqual([]);
    expect(this.last).toMatchObject({ type: 'run_status', status: 'completed', stop_reason: 'answered' });
  }

  get lastText(): string {
    return [...this.screens.values()].at(-1)?.at(-1) ?? '';
  }
}

const newRun = async (token: string): Promise<RunId> => (await scenario.client.createRun({ question: `Scenario ${token}: what is known? telling() run.${token}`, budget_credits: 10_000 })).id;

const inTheMiddle = (watchers: Watcher[]): Promise<void> => scenario.until('half a report', () => watchers.every(({ view }) => (view?.content.length ?? 0) > 300));

async function kill(service: ServiceName): Promise<void> {
  const [pid] = scenario.stack.pids()[service];
  process.kill(pid!, 'SIGKILL');
  await scenario.until(`a new ${service}`, () => scenario.stack.pids()[service].some((living) => living !== pid));
}

/** The report as it was settled, without the list of sources below it. */
async function settledText(id: RunId): Promise<string> {
  const { data } = await scenario.client.messages(id);
  return data.findLast(({ role }) => role === 'assistant')!.content;
}

it('[Q-19] [C03] 50 clients resume on the gateway that takes the place of a killed one: no gap, nothing doubled', async () => {
  const id = await newRun('gateway');
  const watchers = Array.from({ length: 50 }, () => new Watcher(id));
  await inTheMiddle(watchers);
  await kill('gateway');
  await Promise.all(watchers.map(({ done }) => done));
  const report = await settledText(id);
  for (const watcher of watchers) watcher.expectTrue(report);
  expect(new Set(watchers.map(({ durable }) => durable.length)).size).toBe(1);
}, 90_000);

it('[Q-05] [Q-19] each token of the settled answer is shown once, although the supervisor is killed in the middle of it', async () => {
  const id = await newRun('supervisor');
  const watchers = Array.from({ length: 3 }, () => new Watcher(id));
  await inTheMiddle(watchers);
  await kill('supervisor');
  await Promise.all(watchers.map(({ done }) => done));
  const report = await settledText(id);
  for (const watcher of watchers) {
    watcher.expectTrue(report);
    expect(watcher.screens.size).toBeGreaterThanOrEqual(2);
    expect(watcher.lastText).toBe(report);
  }
}, 90_000);

it('[Q-14] [Q-19] who watches and who joins sees the whole text after Redis was emptied in the middle of it', async () => {
  const id = await newRun('emptied');
  const early = new Watcher(id);
  await inTheMiddle([early]);
  await redis.inflict('FLUSHALL');
  const late = new Watcher(id);
  await scenario.until('text for who joined', () => (late.view?.content.length ?? 0) > 300);
  await Promise.all([early.done, late.done]);
  const report = await settledText(id);
  for (const watcher of [early, late]) {
    watcher.expectTrue(report);
    expect(watcher.lastText).toBe(report);
  }
}, 90_000);

it('[Q-14] [Q-19] facts go on while Redis is away, and nothing wrong is shown', async () => {
  const id = await newRun('away');
  const watchers = Array.from({ length: 3 }, () => new Watcher(id));
  await inTheMiddle(watchers);
  await redis.kill();
  await Promise.all(watchers.map(({ done }) => done));
  const report = await settledText(id);
  for (const watcher of watchers) watcher.expectTrue(report);
  await redis.start();
  const next = new Watcher(await newRun('back'));
  await next.done;
  expect(next.last).toMatchObject({ type: 'run_status', status: 'completed' });
}, 90_000);
