import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type ModelMessage, type RunId } from '#contracts';
import { promptPolicy } from '#domain';
import { AgentWorld, pageAddress, type AgentRunShape, type InProcessScript, type ModelAnswer, type PlayedDependencies } from '#testing';
import { link, note, read, search, story } from './spec-support/scripts.ts';

const PAGE_CHARS = 4_000;
const PAGES = 9;

let world: AgentWorld;
let played: PlayedDependencies;
let limits = { tokensMax: 100_000, rawPageChars: 3 * PAGE_CHARS, summarises: false };
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterEach(() => {
  expect(played.model.problems).toEqual([]);
  limits = { tokensMax: 100_000, rawPageChars: 3 * PAGE_CHARS, summarises: false };
});
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  expect(await world.replayDifferences()).toEqual([]);
  await world.close();
});

const longText = (url: string): string => `${url} opens here. ${'Nothing of interest stands in this sentence. '.repeat(PAGE_CHARS / 90)}\nThe lease of ${url} ends in spring.\n${'Nor in this one, which is filler too. '.repeat(PAGE_CHARS / 90)}`;
const pageName = (index: number): string => `p${index}`;
const reader: InProcessScript = ({ step }) => {
  const steps: ModelAnswer[] = [{ calls: [search('lease ends')] }, ...Array.from({ length: PAGES }, (_, index) => ({ calls: [read(pageName(index))] })), { calls: [note(`Found ${link('p0')}`)] }];
  return steps[step] ?? { text: 'Done.' };
};

function prepare(worker: InProcessScript): void {
  const supervisor: InProcessScript = (call) => (call.step === 0 ? { calls: [{ name: 'delegate_research_task', arguments: { task: 'task p0' } }] } : { text: `A lease ends "in spring" ${link('p0')}.` });
  played = world.dependencies(story(['p0'], { supervisor, worker }), { prompts: { tokensMax: (history) => promptPolicy(limits).tokensMax(history), isFoldDue: (load) => promptPolicy(limits).isFoldDue(load), cutOf: (view) => promptPolicy(limits).cutOf(view), summarises: () => limits.summarises } });
  played.web.text = longText;
}

async function play(worker: InProcessScript, shape: AgentRunShape = {}): Promise<RunId> {
  prepare(worker);
  const { runId } = await world.newRun({ workerTurns: PAGES + 4, ...shape });
  expect(await world.drive(played, runId)).toEqual([]);
  return runId;
}

const prompts = (): ModelMessage[][] => played.model.calls.filter(({ role }) => role === 'worker').map(({ request }) => request.messages);
const isWhole = ({ role, content }: ModelMessage): boolean => role === 'tool' && content.length > 0.8 * PAGE_CHARS;
const isFolded = ({ content }: ModelMessage): boolean => content.includes('Folded: only these passages');
const counts = (messages: ModelMessage[]): string => `${messages.filter(isWhole).length}+${messages.filter(isFolded).length}`;

/** Leading messages that two prompts share. */
const sharedMessages = (left: ModelMessage[], right: ModelMessage[]): number => {
  const at = left.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(right[index]));
  return at < 0 ? left.length : at;
};

describe('pages of a worker', () => {
  it('are folded in blocks, all but the newest at once, and the prompt only grows in between', async () => {
    const runId = await play(reader);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
    expect(prompts().map(counts)).toEqual(['0+0', '0+0', '1+0', '2+0', '3+0', '1+3', '2+3', '3+3', '1+6', '2+6', '3+6', '3+6']);
    const sent = prompts();
    for (const [index, messages] of sent.entries()) {
      const before = index === 0 ? [] : sent[index - 1]!.filter(({ role, content }) => role !== 'user' || !content.includes('turn'));
      const wasFolded = index > 0 && messages.filter(isFolded).length > before.filter(isFolded).length;
      expect(sharedMessages(before, messages)).toBe(wasFolded ? before.findIndex(isWhole) : before.length);
    }
  });

  it('keep the sentence that was searched for, and can be opened again for nothing', async () => {
    let spentBefore = 0;
    const spent = async (): Promise<number> => Number(await world.one('SELECT COUNT(*) FROM reservations WHERE operation = ?', ['read']));
    await play(async (call) => {
      const answer = await reader(call);
      if (call.step !== 6) return call.step > 6 ? { text: 'Done.' } : answer;
      expect(call.request.messages.filter(isFolded).every(({ content }) => /The lease of \S+ ends in spring\./.test(content))).toBe(true);
      spentBefore = await spent();
      return { calls: [{ name: 'scroll_web_page', arguments: { url: pageAddress('p0'), page: 0 } }, { name: 'search_web_page', arguments: { url: pageAddress('p1'), query: 'filler too' } }] };
    });
    expect(await spent()).toBe(spentBefore);
    const reopened = prompts().at(-1)!.filter(({ role }) => role === 'tool').slice(-2);
    expect(reopened.map(isWhole)).toEqual([true, false]);
    expect(reopened[1]!.content).toContain('[page 0]');
  });

  it('stay whole where they came with the newest page, however large that turn is', async () => {
    const many: InProcessScript = ({ step }) => (step === 0 ? { calls: Array.from({ length: 5 }, (_, index) => read(pageName(index))) } : step === 1 ? { calls: [search('x')] } : { text: 'Done.' });
    await play(many);
    expect(prompts().map(counts)).toEqual(['0+0', '5+0', '5+0']);
  });

  it('[Q-04] are folded as before when the run goes on in another process with other settings', async () => {
    const drain = new AbortController();
    prepare(reader);
    played.web.before = (what) => {
      if (!what.endsWith('p5')) return;
      limits.rawPageChars = Infinity;
      drain.abort();
    };
    const { runId } = await world.newRun({ workerTurns: PAGES + 4 });
    let claims = 0;
    const failures = await world.drive(played, runId, ({ loaded }) => (loaded.run.role === 'worker' && ++claims === 1 ? { drain: drain.signal } : {}));
    expect(failures).toEqual([]);
    expect(claims).toBe(2);
    expect(prompts().map(counts)).toEqual(['0+0', '0+0', '1+0', '2+0', '3+0', '1+3', '2+3', '3+3', '4+3', '5+3', '6+3', '6+3']);
    const [before, after] = prompts().slice(6, 8);
    expect(sharedMessages(before!, after!)).toBe(before!.length);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });
});

describe('a prompt that is too long for its model', () => {
  const overflow = (): QuaestorError => new QuaestorError('MODEL_CONTEXT_OVERFLOW', 'too long', { details: { accepted: false } });
  const sizeOf = (messages: ModelMessage[]): number => messages.reduce((sum, { content }) => sum + content.length, 0);

  it('[B31] is made shorter once, by folding first, and the run goes on within the new bound', async () => {
    limits.rawPageChars = Infinity;
    const runId = await play((call) => (sizeOf(call.request.messages) > 5 * PAGE_CHARS ? { error: overflow() } : reader(call)));
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
    const [worker] = await world.workers(runId);
    const attempts = await world.attempts(worker!['id'] as RunId);
    expect(attempts.filter((attempt) => attempt['error_code'] === 'MODEL_CONTEXT_OVERFLOW')).toHaveLength(1);
    expect(prompts().map(sizeOf).filter((size) => size > 5 * PAGE_CHARS)).toHaveLength(1);
    const sent = prompts().map((messages) => JSON.stringify(messages));
    expect(new Set(sent).size).toBe(sent.length);
  });

  it('[B31] ends the run with that reason when the shorter one is too long as well', async () => {
    const runId = await play((call) => (call.step < 4 ? reader(call) : { error: overflow() }));
    const [worker] = await world.workers(runId);
    expect(worker).toMatchObject({ status: 'failed', stop_reason: 'provider_failed', last_error_code: 'MODEL_CONTEXT_OVERFLOW' });
    expect(prompts()).toHaveLength(4 + 2);
    expect(JSON.parse((await world.calls(runId))[0]!['result'] as string)).toMatchObject({ kind: 'error', code: 'DELEGATION_FAILED' });
  });

  it('[B31] is not sent again when nothing of it can be left out', async () => {
    const runId = await play(() => ({ error: overflow() }));
    expect(prompts()).toHaveLength(1);
    expect((await world.workers(runId))[0]).toMatchObject({ stop_reason: 'provider_failed', last_error_code: 'MODEL_CONTEXT_OVERFLOW' });
  });
});

describe('old groups of a run', () => {
  const SEARCHES = 16;
  // a step is read off the prompt, where calls are left out
  const searcher: InProcessScript = () => {
    const step = prompts().length - 1;
    if (step < SEARCHES) return { calls: [search(`look ${step} ${Array.from({ length: 60 }, (_, word) => `w${step}x${word}`).join(' ')}`)] };
    return step === SEARCHES ? { calls: [note(`Found ${link('p0')}`)] } : { text: 'Done.' };
  };
  const cutsOf = async (runId: RunId): Promise<number[]> => (await world.sql.rows('SELECT a.prompt_cut FROM attempts a JOIN runs r ON r.id = a.run_id WHERE r.parent_run_id = ? ORDER BY a.turn, a.attempt', [runId])).map((row) => Number(row['prompt_cut']));
  const withoutNotice = (messages: ModelMessage[]): ModelMessage[] => messages.filter(({ role, content }, index) => role !== 'user' || index === 1 || !content.includes('turn'));

  it('are left out in blocks: the cut stays for several turns, in which the prompt only grows', async () => {
    limits = { tokensMax: 2_000, rawPageChars: Infinity, summarises: false };
    prepare(searcher);
    const { runId } = await world.newRun({ workerTurns: SEARCHES + 4 });
    expect(await world.drive(played, runId)).toEqual([]);
    const cuts = await cutsOf(runId);
    expect(cuts).toEqual(cuts.toSorted((left, right) => left - right));
    expect(new Set(cuts).size).toBeGreaterThan(2);
    expect(new Set(cuts).size).toBeLessThan(cuts.length / 2);
    const sent = prompts().map(withoutNotice);
    for (const [index, messages] of sent.entries()) {
      if (index > 0 && cuts[index] === cuts[index - 1]) expect(sharedMessages(sent[index - 1]!, messages)).toBe(sent[index - 1]!.length);
    }
  });

  it('[Q-04] stay left out when the run goes on in another process with other settings', async () => {
    limits = { tokensMax: 2_000, rawPageChars: Infinity, summarises: false };
    const drain = new AbortController();
    prepare((call) => {
      if (prompts().length === 13) {
        limits.tokensMax = 100_000;
        drain.abort();
      }
      return searcher(call);
    });
    let claims = 0;
    let cutBefore = 0;
    const { runId } = await world.newRun({ workerTurns: SEARCHES + 4 });
    const failures = await world.drive(played, runId, ({ loaded }) => {
      if (loaded.run.role !== 'worker') return {};
      cutBefore = loaded.prompts.cut;
      return ++claims === 1 ? { drain: drain.signal } : {};
    });
    expect(failures).toEqual([]);
    expect([claims, cutBefore > 0]).toEqual([2, true]);
    expect((await cutsOf(runId)).slice(13)).toEqual(Array.from({ length: 5 }, () => cutBefore));
    expect((await world.workers(runId))[0]).toMatchObject({ stop_reason: 'answered' });
  });
});

it('counts tokens as the provider does, once it has said how many there were', async () => {
  limits = { tokensMax: 4_400, rawPageChars: Infinity, summarises: false };
  const counting = (tokensPerChar: number): InProcessScript => async (call) => {
    const { messages, tools } = call.request;
    return { ...(await reader(call)), usage: { inputTokens: Math.ceil(JSON.stringify([messages, tools]).length * tokensPerChar), outputTokens: 1 } };
  };
  await play(counting(0.14));
  const few = prompts().map(counts);
  await play(counting(0.5));
  const many = prompts().map(counts);
  expect(few[3]).toBe('2+0');
  expect(many[3]).toBe('1+1');
});
