import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type RunId, type TenantId, type ToolCallId } from '#contracts';
import { deriveSourceId, deriveToolCallId, idMapBy, type IdMap } from '#domain';
import { AgentWorld, type InProcessScript } from '#testing';
import { RunArtifactRepository } from '../repositories/run-artifact.repository.ts';
import { SpendRepository } from '../repositories/spend.repository.ts';
import { RunCopyRepository } from '../repositories/run-copy.repository.ts';

const bytes = (): Buffer => randomBytes(17);
const link = '[page](https://fixture.example/alpha)';

let world: AgentWorld;
let runId: RunId;
let tenantId: TenantId;
let artifacts: RunArtifactRepository;
let copies: RunCopyRepository;

const script = (report: string): InProcessScript => ({ role, step }) =>
  role === 'supervisor'
    ? ([{ calls: [{ name: 'update_scratchpad', arguments: { content: 'first plan' } }] }, { calls: [{ name: 'delegate_research_task', arguments: { task: 'task alpha' } }] }, { calls: [{ name: 'update_scratchpad', arguments: { content: 'second plan' } }] }][step] ?? { text: report })
    : ([{ calls: [{ name: 'perform_web_search', arguments: { query: 'alpha' } }] }, { calls: [{ name: 'append_scratchpad', arguments: { note: `Found ${link}` } }] }][step] ?? { text: 'Done.' });

beforeAll(async () => {
  world = await AgentWorld.open();
  ({ runId, tenantId } = await world.newRun());
  expect(await world.drive(world.dependencies(script('The first report.')), runId)).toEqual([]);
  artifacts = new RunArtifactRepository(world.sql, bytes);
  copies = new RunCopyRepository(world.sql, bytes);
});
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  expect(await world.replayDifferences()).toEqual([]);
  await world.close();
});

async function rowsOf(id: RunId): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const row of artifacts.export(id, null)) rows.push(JSON.parse(JSON.stringify(row)));
  return rows;
}

/** Ids by the order in which they appear: what a copy differs in. */
function normalised(rows: unknown[]): string {
  const names = new Map<string, string>();
  return rows.map((row) => JSON.stringify(row)).join('\n').replace(/(?:run|thr|att|call|src|res|asst)_[0-9a-v]{26}/g, (id) => names.get(id) ?? (names.set(id, `${id.slice(0, id.indexOf('_'))}#${names.size}`), names.get(id)!));
}

async function* streamed(rows: unknown[]): AsyncGenerator<unknown, void, undefined> {
  await Promise.resolve();
  yield* rows;
}

describe('the map of ids', () => {
  it('[Q-24] moves every id by one distance, so that derived ids stay derived, and leaves other texts alone', () => {
    const map: IdMap = idMapBy(new Uint8Array(17).fill(200));
    const attempt = 'att_vvvvvvvvvvvvvvvvvvvvvvvvvv' as never;
    const call = deriveToolCallId(attempt, 3);
    expect(map(call)).toBe(deriveToolCallId(map(attempt), 3));
    expect(map(deriveSourceId(call))).toBe(deriveSourceId(map(call)));
    expect(map(call)).not.toBe(call);
    expect(map('call_1' as ToolCallId)).toBe('call_1');
  });
});

describe('a run as a file', () => {
  it('comes back the same but for its ids, and can be replayed', async () => {
    const rows = await rowsOf(runId);
    expect((rows as { type: string }[]).map(({ type }) => type)).toEqual(expect.arrayContaining(['session', 'turn/start', 'assistant/message', 'quaestor/row']));
    const imported = await artifacts.import(streamed(rows), tenantId);
    expect(imported).not.toBe(runId);
    const again = await rowsOf(imported);
    expect(normalised(again.map((row) => withoutNames(row)))).toBe(normalised(rows.map((row) => withoutNames(row))));
    expect((await world.replay(await world.record(imported))).difference).toBeNull();
  });

  it('[Q-12] costs nothing here, was paid for elsewhere, and fits into any quota', async () => {
    const spent = async () => (await world.rows('SELECT held_microcredits, spent_microcredits FROM tenant_budgets WHERE tenant_id = ?', [tenantId]))[0];
    const operations = async () => (await new SpendRepository(world.sql).of(tenantId)).operations;
    const [before, charged] = [await spent(), await operations()];
    await world.sql.change('UPDATE tenant_budgets SET limit_microcredits = held_microcredits + spent_microcredits WHERE tenant_id = ?', [tenantId]);
    const imported = await artifacts.import(streamed(await rowsOf(runId)), tenantId);
    expect([await spent(), await operations()]).toEqual([before, charged]);
    expect(await world.one('SELECT spent_microcredits FROM budgets WHERE root_run_id = ?', [imported])).toBe(await world.one('SELECT spent_microcredits FROM budgets WHERE root_run_id = ?', [runId]));
    await world.sql.change('UPDATE tenant_budgets SET limit_microcredits = NULL WHERE tenant_id = ?', [tenantId]);
  });

  it('is for ended runs of ones own', async () => {
    const { runId: queued } = await world.newRun();
    await expect(rowsOf(queued)).rejects.toThrow('The run has not ended');
    const foreign = artifacts.export(runId, `ten_${'0'.repeat(26)}` as TenantId);
    await expect(foreign.next()).rejects.toThrow(new QuaestorError('NOT_FOUND', 'There is no run with this id.'));
    await world.cancels.request((await world.run(queued))['tenant_id'] as TenantId, queued);
    await world.cancels.endIdleRuns(queued);
  });

  it.each<[string, (text: string) => string, string]>([
    ['a row that is missing', (text) => text.replace(/\n.*"turn\/start".*\n/, '\n'), 'where'],
    ['an unknown table', (text) => text.replace('"table":"threads"', '"table":"tenants"'), 'names a table "tenants" that no run has'],
    ['an unknown column', (text) => text.replace('"question":', '"drop table":'), 'names a column "drop table" of runs that this version does not know'],
    ['a row of another database', (text) => text.replace('"question":', '"tenant_id":"x","question":'), 'names a column "tenant_id" of runs that this version does not know'],
    ['another answer', (text) => text.replace('"content":[{"type":"text","text":"The first report."}]', '"content":[]'), 'has a stream that gives another content than its message'],
    ['a result nobody can read', (text) => text.replace('{\\"kind\\":\\"text\\"', '{\\"kind\\":\\"odd\\"'), 'cannot be read as a run'],
    ['version 1', (text) => text.replace('"version":2', '"version":1').replace('"isSeeded":false,', ''), 'has version 1'],
    ['another engine', (text) => text.split('\n').slice(0, 1).join('\n'), 'it holds no run of Quaestor'],
  ])('refuses %s in one sentence, and writes nothing', async (_what, change, sentence) => {
    const text = (await rowsOf(runId)).map((row) => JSON.stringify(row)).join('\n');
    const changed = change(text);
    expect(changed).not.toBe(text);
    const before = await world.one('SELECT COUNT(*) FROM runs');
    await expect(artifacts.import(streamed(changed.split('\n').map((line) => JSON.parse(line) as unknown)), tenantId)).rejects.toThrow(sentence);
    expect(await world.one('SELECT COUNT(*) FROM runs')).toBe(before);
  });
});

describe('a run that continues another, as a file', () => {
  it('brings what it continues with it, comes back the same, and goes the same way again', async () => {
    const first = await world.newRun({ budgetCredits: 60 });
    expect(await world.drive(world.dependencies(script('')), first.runId)).toEqual([]);
    const successor = await world.resume(first.tenantId, first.runId, { credits: 100 });
    expect(await world.drive(world.dependencies(script('Said at last.')), successor)).toEqual([]);
    const rows = await rowsOf(successor);
    expect(rows[0]).toMatchObject({ type: 'session', id: successor });
    const imported = await artifacts.import(streamed(rows), tenantId);
    expect(normalised((await rowsOf(imported)).map(withoutNames))).toBe(normalised(rows.map(withoutNames)));
    const before = (await world.run(imported))['resumed_from'];
    expect(before).toMatch(/^run_/);
    expect(before).not.toBe(first.runId);
    expect((await world.replay(await world.record(imported))).difference).toBeNull();
    await expect(copies.fork({ tenantId: first.tenantId, runId: successor, fromTurn: 1, budgetMicrocredits: 1, deadlineSeconds: 1 })).rejects.toThrow(`This run continues ${first.runId}: only the first run of such a chain can be forked.`);
  });

  it('is refused when what it continues is not in the file', async () => {
    const text = (await rowsOf(runId)).map((row) => JSON.stringify(row)).join('\n').replace('"resumed_from":null', `"resumed_from":"run_${'0'.repeat(26)}"`);
    await expect(artifacts.import(streamed(text.split('\n').map((line) => JSON.parse(line) as unknown)), tenantId)).rejects.toThrow('cannot be read as a run: The root runs do not continue one another.');
  });
});

/** An imported assistant is named by its id, beside the tenant's own. */
const withoutNames = (row: unknown): unknown => {
  const { data } = row as { data?: { table?: string; values?: Record<string, unknown> } };
  return data?.table === 'assistants' ? { ...(row as object), data: { ...data, values: { ...data.values, name: '' } } } : row;
};

describe('a fork', () => {
  const fork = async (fromTurn: number): Promise<{ runId: RunId }> => {
    const outcome = await copies.fork({ tenantId, runId, fromTurn, budgetMicrocredits: 500_000_000, deadlineSeconds: 60 });
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return outcome;
  };

  it('goes on from a turn with a live model, with money of its own, and links back', async () => {
    const before = await rowsOf(runId);
    const { runId: forked } = await fork(3);
    const played = world.dependencies(script('The second report.'));
    expect(await world.drive(played, forked)).toEqual([]);
    expect(played.model.calls).toHaveLength(2);
    expect(await world.run(forked)).toMatchObject({ status: 'incomplete', stop_reason: 'insufficient_evidence', turn: 4, forked_from: runId, forked_turn: 2, tenant_id: tenantId });
    expect((await world.run(forked))['report']).toContain('The second report.');
    expect((await world.workers(forked)).map(({ status }) => status as string)).toEqual(['completed']);
    const asked = played.model.calls[0]!.request.messages;
    expect(asked.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'tool']);
    expect(await world.one('SELECT spent_microcredits FROM budgets WHERE root_run_id = ?', [forked])).not.toBe('0');
    expect(await world.one('SELECT body FROM scratchpads s JOIN runs r ON r.thread_id = s.thread_id WHERE r.id = ?', [forked])).toBe('second plan');
    expect(await rowsOf(runId)).toEqual(before);
  });

  it('has the plan and the findings of its own past only', async () => {
    const { runId: early } = await fork(2);
    const pad = await world.rows('SELECT s.body, s.revision FROM scratchpads s JOIN runs r ON r.thread_id = s.thread_id WHERE r.id = ?', [early]);
    expect(pad).toMatchObject([{ body: 'first plan', revision: 1 }]);
    expect(await world.rows('SELECT e.text FROM scratchpad_entries e JOIN runs r ON r.thread_id = e.thread_id WHERE r.id = ?', [early])).toEqual([]);
    expect(await world.workers(early)).toEqual([]);
    expect(await world.drive(world.dependencies(script('From the plan on.')), early)).toEqual([]);
    expect(await world.workers(early)).toHaveLength(1);
  });

  it('may begin with the question, and ends nothing that others own', async () => {
    const { runId: fresh } = await fork(1);
    expect(await world.drive(world.dependencies(() => ({ text: 'At once.' })), fresh)).toEqual([]);
    expect(await world.run(fresh)).toMatchObject({ turn: 1, forked_turn: 0 });
    await expect(copies.fork({ tenantId: `ten_${'0'.repeat(26)}` as TenantId, runId, fromTurn: 1, budgetMicrocredits: 1, deadlineSeconds: 1 })).rejects.toThrow('There is no run with this id.');
    await expect(fork(5)).rejects.toThrow('from_turn: this run has no whole turn 4 with calls to go on from.');
  });
});
