import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createModels, modelConfig } from '#models';
import { sameModelForAll } from '#domain';
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

describe.each(['openai-compatible', 'openai-responses', 'anthropic'])('a run over %s', (provider) => {
  it('[Q-01] [Q-24] [L50] sends only what a strict vendor accepts', async () => {
    const settings = { MODEL_PROVIDER: provider, MODEL_BASE_URL: `${server.url}/v1`, MODEL_NAME: 'gpt-5', MODEL_API_KEY: 'sk-scripted-1' };
    const [choice] = createModels(modelConfig.parse(settings)).supervisor;
    const played = world.dependencies(() => ({ text: 'never asked' }), { models: sameModelForAll(choice) });
    const { runId } = await world.newRun();
    await world.drive(played, runId);
    expect(await world.rows('SELECT provider, outcome, error_message FROM attempts WHERE run_id = ? ORDER BY turn', [runId])).toEqual(Array.from({ length: 3 }, () => ({ provider, outcome: 'completed', error_message: null })));
    expect(server.records.list().map(({ protocolProblems }) => protocolProblems)).not.toContain(1);
    expect((await world.run(runId))['report']).toContain('Nothing was found.');
  });
});

describe('a strict vendor', () => {
  const post = async (path: string, headers: Record<string, string>, body: unknown): Promise<[number, string]> => {
    const response = await fetch(`${server.url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return [response.status, await response.text()];
  };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];
  const KEY = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' };
  const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'find', input: {} }] };

  it.each([
    ['messages', { authorization: 'Bearer k' }, { model: 'm', max_tokens: 1, messages }, 401, 'x-api-key'],
    ['messages', { 'x-api-key': 'k' }, { model: 'm', max_tokens: 1, messages }, 401, 'anthropic-version'],
    ['chat/completions', { 'x-api-key': 'k' }, { model: 'm', messages: [{ role: 'user', content: 'a' }] }, 401, 'authorization'],
    ['messages', KEY, { model: 'm', messages }, 400, 'max_tokens'],
    ['messages', KEY, { model: 'm', max_tokens: 1, messages: [...messages, ...messages] }, 400, 'alternate'],
    ['messages', KEY, { model: 'm', max_tokens: 1, messages: [...messages, use, ...messages] }, 400, 'never issued'],
    ['messages', KEY, { model: 'm', max_tokens: 1, messages: [...messages, { role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: 'forged' }] }] }, 400, 'signature'],
    ['responses', {}, { model: 'm', input: [{ type: 'function_call_output', call_id: 'a', output: 'b' }] }, 400, 'answers no tool call'],
    ['responses', {}, { model: 'm', input: [{ type: 'reasoning', encrypted_content: 'sealed' }, { type: 'message', role: 'user', content: [] }] }, 400, 'is empty'],
    ['responses', {}, { model: 'm', input: [{ type: 'reasoning', encrypted_content: 'forged' }] }, 400, 'not issued here'],
  ])('refuses on %s: %j %j', async (path, headers, body, status, words) => {
    const [code, text] = await post(path, headers as Record<string, string>, body);
    expect([code, text]).toEqual([status, expect.stringContaining(words)]);
  });
});
