import { afterAll, beforeAll, expect, it } from 'vitest';
import { QuaestorError, type RunId } from '#contracts';
import { AgentWorld } from '#testing';
import type { CommandContext } from '../context.ts';
import { replay } from './replay.ts';

let world: AgentWorld;
let runId: RunId;

beforeAll(async () => {
  world = await AgentWorld.open();
  runId = (await world.newRun()).runId;
  await world.drive(world.dependencies(({ step }) => (step === 0 ? { calls: [{ name: 'update_scratchpad', arguments: { content: 'plan' } }] } : { text: 'Nothing was found.' })), runId);
});
afterAll(() => world.close());

async function run(id: RunId, options: { json?: boolean } = {}): Promise<{ exitCode: number; lines: string[] }> {
  const lines: string[] = [];
  const context = { config: { QUAESTOR_DIRECTORY: '/nowhere' }, terminal: { print: async (text: string) => void lines.push(text) }, log: () => undefined } as unknown as CommandContext;
  return { exitCode: await replay(context, id, { database: world.database.url, ...options }), lines };
}

it('says that every step is the recorded one', async () => {
  expect(await run(runId)).toEqual({ exitCode: 0, lines: [`same ${runId} supervisor: insufficient_evidence (2 attempts, 1 calls, 2 prompts to the byte)`] });
  const { lines } = await run(runId, { json: true });
  expect(JSON.parse(lines[0]!)).toMatchObject({ ok: true, difference: null, runs: [{ runId, worker: null, attempts: 2 }] });
});

it('names the first difference and fails', async () => {
  await world.sql.change(`UPDATE messages SET content = 'forged' WHERE run_id = ? AND role = 'assistant' AND content <> ''`, [runId]);
  const { exitCode, lines } = await run(runId);
  expect(exitCode).toBe(1);
  expect(lines[0]).toMatch(/^DIFFERS run_/);
  expect(lines.slice(1)).toEqual(['supervisor, turn 2, attempt 1: the answer differs', expect.stringContaining('recorded: {"content":"forged"'), expect.stringContaining('replayed: {"content":"Nothing was found."')]);
});

it('knows nothing of a run that never was', async () => {
  await expect(run(`run_${'0'.repeat(26)}` as RunId)).rejects.toThrow(new QuaestorError('NOT_FOUND', 'There is no run with this id.'));
});
