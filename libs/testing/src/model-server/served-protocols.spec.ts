import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createModels, modelConfig } from '#models';
import { sameModelForAll, type ModelChoice } from '#domain';
import { AgentWorld } from '../agent-world/index.ts';
import { countCalls, type ModelScript } from './script.ts';
import { startModelServer, type ModelServer } from './server.ts';

/** Plans with reasoning, reads twice at once, then answers. */
const planner: ModelScript = {
  name: 'planner',
  description: 'plans, reads twice at once, answers',
  answer: (request) => {
    if (countCalls(request, 'update_scratchpad') === 0) return { reasoning: 'I plan first.', text: 'A plan.', calls: [{ name: 'update_scratchpad', arguments: { content: 'é ✓' } }] };
    if (countCalls(request, 'read_scratchpad') === 0) return { reasoning: 'I look.', calls: [{ name: 'read_scratchpad', arguments: {} }, { name: 'append_scratchpad', arguments: { note: 'Noted.' } }] };
    return { text: 'Nothing was found.' };
  },
};

let world: AgentWorld;
let server: ModelServer;

beforeAll(async () => {
  world = await AgentWorld.open();
  server = await startModelServer({ scripts: [planner], defaultScript: planner });
});
afterAll(async () => {
  await server.close();
  await world.close();
});
afterEach(async () => expect(await world.brokenPromises()).toEqual([]));

/** A model of each protocol whose vendor wants its reasoning back. */
const THINKERS = [
  ['openai-compatible', 'kimi-k2-thinking'],
  ['openai-compatible', 'deepseek-reasoner'],
  ['openai-responses', 'gpt-5'],
  ['anthropic', 'claude-sonnet-4-5'],
] as const;

const choiceOf = (provider: string, name: string, { url }: ModelServer): ModelChoice => {
  const settings = { MODEL_PROVIDER: provider, MODEL_BASE_URL: `${url}/v1`, MODEL_NAME: name, MODEL_API_KEY: 'sk-scripted-1', MODEL_THINKING: 'on' };
  return createModels(modelConfig.parse(settings)).supervisor[0];
};

describe.each(THINKERS)('a run over %s with %s', (provider, name) => {
  it('[Q-01] [Q-24] [L19] [L31] [L50] [B16] sends only what a strict vendor accepts', async () => {
    const played = world.dependencies(() => ({ text: 'never asked' }), { models: sameModelForAll(choiceOf(provider, name, server)) });
    const { runId } = await world.newRun();
    await world.drive(played, runId);
    expect(await world.rows('SELECT provider, outcome, error_message FROM attempts WHERE run_id = ? ORDER BY turn', [runId])).toEqual(Array.from({ length: 3 }, () => ({ provider, outcome: 'completed', error_message: null })));
    expect(server.records.list().map(({ protocolProblems }) => protocolProblems)).not.toContain(1);
    expect((await world.run(runId))['report']).toContain('Nothing was found.');
    expect(await world.rows('SELECT 1 FROM messages WHERE run_id = ? AND reasoning IS NOT NULL', [runId])).toHaveLength(2);
  });

  it.each(THINKERS)('[L31] [L43] [L51] [B16] [B17] goes on with %s %s when its key is taken away, and comes back to write', async (otherProvider, otherName) => {
    const failing: ModelScript = { ...planner, answer: (request) => (countCalls(request, 'update_scratchpad') === 1 && request.offeredTools.size > 0 ? { fault: { kind: 'status', status: 401 } } : planner.answer(request)) };
    const servers = [await startModelServer({ scripts: [], defaultScript: failing, takesForeignCalls: true }), await startModelServer({ scripts: [], defaultScript: planner, takesForeignCalls: true })] as const;
    onTestFinished(async () => void (await Promise.all(servers.map((each) => each.close()))));
    const first = choiceOf(provider, name, servers[0]);
    const other = choiceOf(otherProvider, otherName, servers[1]);
    const played = world.dependencies(() => ({ text: 'never asked' }), { models: { supervisor: [first, other], worker: [first], synthesis: [first] } });
    const { runId } = await world.newRun({ supervisorTurns: 3 });
    expect(await world.drive(played, runId)).toEqual([]);
    expect(await world.rows('SELECT provider, model, outcome, error_code FROM attempts WHERE run_id = ? ORDER BY turn, attempt', [runId])).toEqual([
      { provider, model: name, outcome: 'completed', error_code: null },
      { provider, model: name, outcome: 'failed', error_code: 'MODEL_UNAUTHORIZED' },
      { provider: otherProvider, model: otherName, outcome: 'completed', error_code: null },
      { provider, model: name, outcome: 'completed', error_code: null },
    ]);
    expect(servers.flatMap(({ records }) => records.list().map(({ firstProblem }) => firstProblem))).toEqual([null, null]);
    expect((await world.replay(await world.record(runId))).difference).toBeNull();
  });
});

describe('a strict vendor', () => {
  const post = async (path: string, headers: Record<string, string>, body: unknown): Promise<[number, string]> => {
    const response = await fetch(`${server.url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return [response.status, await response.text()];
  };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];
  const KEY = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' };
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a' }] };
  const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'find', input: {} }] };

  it.each([
    ['messages', { authorization: 'Bearer k' }, { model: 'm', max_tokens: 1, messages }, 401, 'x-api-key'],
    ['messages', { 'x-api-key': 'k' }, { model: 'm', max_tokens: 1, messages }, 401, 'anthropic-version'],
    ['chat/completions', { 'x-api-key': 'k' }, { model: 'm', messages: [{ role: 'user', content: 'a' }] }, 401, 'authorization'],
    ['messages', KEY, { model: 'm', messages }, 400, 'max_tokens'],
    ['messages', KEY, { model: 'm', max_tokens: 1, messages: [...messages, ...messages] }, 400, 'alternate'],
    ['messages', KEY, { model: 'm', max_tokens: 1, messages: [...messages, use, result] }, 400, 'never issued'],
    ['messages', KEY, { model: 'm', max_tokens: 1, messages: [...messages, use, ...messages] }, 400, 'no tool message'],
    ['messages', KEY, { model: 'm', max_tokens: 1_024, thinking: { type: 'enabled', budget_tokens: 1_024 }, messages }, 400, 'budget_tokens'],
    ['messages', KEY, { model: 'm', max_tokens: 2_048, thinking: { type: 'enabled', budget_tokens: 1_024 }, messages: [...messages, use, result] }, 400, 'expected thinking'],
    ['chat/completions', {}, { model: 'kimi-k2', messages: [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }, { role: 'user', content: 'c' }] }, 400, 'reasoning_content is missing'],
    ['messages', KEY, { model: 'm', max_tokens: 1, messages: [...messages, { role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: 'forged' }] }] }, 400, 'signature'],
    ['responses', {}, { model: 'm', input: [{ type: 'function_call_output', call_id: 'a', output: 'b' }] }, 400, 'answers no tool call'],
    ['responses', {}, { model: 'm', input: [{ type: 'reasoning', encrypted_content: 'sealed' }, { type: 'message', role: 'user', content: [] }] }, 400, 'is empty'],
    ['responses', {}, { model: 'm', input: [{ type: 'reasoning', encrypted_content: 'forged' }] }, 400, 'not issued here'],
  ])('refuses on %s: %j %j', async (path, headers, body, status, words) => {
    const [code, text] = await post(path, headers as Record<string, string>, body);
    expect([code, text]).toEqual([status, expect.stringContaining(words)]);
  });
});
