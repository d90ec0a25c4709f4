import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type ModelMessage, type RunId } from '#contracts';
import { promptPolicy, type RunJournal, type TurnSettlement } from '#domain';
import { AgentWorld, type InProcessScript, type ModelAnswer, type PlayedDependencies } from '#testing';
import { delegate, search, story } from './spec-support/scripts.ts';

const SEARCHES = 10;
let world: AgentWorld;
let played: PlayedDependencies;
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterEach(() => expect(played.model.problems).toEqual([]));
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  expect(await world.replayDifferences()).toEqual([]);
  await world.close();
});

const isSummarising = (messages: readonly ModelMessage[]): boolean => messages[0]!.content.startsWith('You keep the memory');
const noteIn = (messages: readonly ModelMessage[]): string | undefined => messages.find(({ role, content }) => role === 'user' && content.includes('<untrusted_summary>'))?.content;

/** Searches for one thing after another; its step is read off the newest search, which is never left out. */
const worker = (summary: ModelAnswer): InProcessScript => ({ request: { messages } }) => {
  if (isSummarising(messages)) return summary;
  const asked = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => Number(/look (\d+)/.exec(call.arguments)?.[1])) : []));
  const step = (asked.at(-1) ?? -1) + 1;
  return step < SEARCHES ? { calls: [search(`look ${step} ${Array.from({ length: 60 }, (_, word) => `w${step}x${word}`).join(' ')}`)] } : { text: 'Done.' };
};

async function play(summary: ModelAnswer, wrap: (journal: RunJournal) => RunJournal = (journal) => journal): Promise<RunId> {
  const supervisor: InProcessScript = (call) => (call.step === 0 ? { calls: [delegate('task p0')] } : { text: 'Nothing was found.' });
  played = world.dependencies(story(['p0'], { supervisor, worker: worker(summary) }), { prompts: promptPolicy({ tokensMax: 2_000, rawPageChars: Infinity, summarises: true }), journal: wrap(world.journal) });
  const { runId } = await world.newRun({ workerTurns: SEARCHES + 4 });
  await world.drive(played, runId);
  await world.recover({ ...played, deps: { ...played.deps, journal: world.journal } }, runId);
  return runId;
}

const summariesOf = (runId: RunId) => world.rows(`SELECT outcome, summary, stream IS NOT NULL AS streamed FROM attempts WHERE root_run_id = ? AND kind = 'summary' ORDER BY turn, attempt`, [runId]);
const workerPrompts = (): ModelMessage[][] => played.model.calls.filter(({ role }) => role === 'worker').map(({ request }) => request.messages);

describe('groups that are left out', () => {
  it('are summarised by a call that is reserved, paid and settled, and its text stands in their place', async () => {
    const runId = await play({ text: 'Looked at many things.' });
    const summaries = await summariesOf(runId);
    expect(summaries.length).toBeGreaterThan(0);
    for (const row of summaries) expect(row).toMatchObject({ outcome: 'completed', summary: 'Looked at many things.' });
    const sent = workerPrompts();
    const first = sent.findIndex(isSummarising);
    const after = sent.slice(first + 1).filter((messages) => !isSummarising(messages));
    for (const messages of after) {
      expect(noteIn(messages)).toContain('Looked at many things.');
      expect(messages[1]!.content).toContain('task p0');
      expect(messages[2]!.content).toBe(noteIn(messages));
    }
    expect(sent[first]![1]!.content).toContain('look 0');
    expect(await world.one(`SELECT COUNT(*) FROM reservations WHERE root_run_id = ? AND state = 'open'`, [runId])).toBe('0');
    expect((await world.workers(runId))[0]).toMatchObject({ stop_reason: 'answered' });
  });

  it.each<[string, ModelAnswer]>([
    ['fails', { error: new QuaestorError('MODEL_RATE_LIMITED', 'down', { details: { accepted: false } }) }],
    ['is cut', { text: 'Half a', finish: 'max-tokens' }],
    ['says nothing', { text: ' ' }],
    ['asks for a tool', { calls: [search('something else')] }],
  ])('are just left out when that call %s', async (_name, summary) => {
    const runId = await play(summary);
    const summaries = await summariesOf(runId);
    expect(summaries.length).toBeGreaterThan(0);
    for (const row of summaries) expect(row['summary']).toBeNull();
    expect(workerPrompts().filter((messages) => noteIn(messages) !== undefined)).toEqual([]);
    expect((await world.workers(runId))[0]).toMatchObject({ stop_reason: 'answered' });
  });

  it.each([false, true])('[Q-04] stay summarised when the process dies at the settlement of the summary, or at the one behind it (committed: %s)', async (committed) => {
    for (const at of [0, 1]) {
      let sinceSummary = -1;
      const runId = await play({ text: 'Looked at many things.' }, (journal) => dyingAt(journal, committed, (kind) => {
        if (kind === 'summary' || sinceSummary >= 0) sinceSummary++;
        return sinceSummary === at;
      }));
      expect(sinceSummary).toBeGreaterThanOrEqual(at);
      expect((await summariesOf(runId)).every(({ summary }) => summary === 'Looked at many things.')).toBe(true);
      expect((await summariesOf(runId)).length).toBeGreaterThan(0);
      expect((await world.workers(runId))[0]).toMatchObject({ stop_reason: 'answered' });
    }
  });
});

/** A journal whose process dies at a settlement, before or after its commit. */
function dyingAt(journal: RunJournal, committed: boolean, isHere: (kind: string) => boolean): RunJournal {
  let dead = false;
  return new Proxy(journal, {
    get: (target, name) => async (...given: unknown[]) => {
      const call = (Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>).bind(target);
      if (!dead && name === 'settleTurn' && isHere((given[1] as TurnSettlement).attempt.kind)) {
        dead = true;
        if (committed) await call(...given);
      }
      if (dead) throw new QuaestorError('LEASE_LOST', 'The process died here.');
      return call(...given);
    },
  });
}
