import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptId, TenantId, ToolCallId } from '#contracts';
import { runOracles } from '../oracles/index.ts';
import { readIncarnation } from '../incarnation.ts';
import { ending, JournalWorld, mint, noteCall, scratchpadOf } from '../spec-support/journal-world.ts';
import { CancelRepository } from './cancel.repository.ts';
import { ScratchpadWriteRepository } from './scratchpad.repository.ts';

let world: JournalWorld;
let pads: ScratchpadWriteRepository;
beforeAll(async () => {
  world = await JournalWorld.open(16);
  pads = new ScratchpadWriteRepository(world.sql);
});
afterAll(async () => {
  const broken = await runOracles(world.database.url, { atRest: true }).then((reports) => reports.filter((report) => report.violations > 0));
  await world?.close();
  expect(broken).toEqual([]);
});

/** Workers of one root run, each with open notes. */
async function writers(workers: number, notesEach: number) {
  const root = await world.waitingRun(workers, { workersMax: workers });
  const notes: ToolCallId[] = [];
  for (const worker of root.workers) {
    const attemptId = mint<AttemptId>('att');
    const { settled } = await world.settledRun(worker, { turn: 1, attemptId, calls: Array.from({ length: notesEach }, (_, index) => noteCall(attemptId, index)) });
    notes.push(...settled.calls.map((call) => call.toolCallId));
  }
  return { root, notes };
}

describe('scratchpad', () => {
  it('[Q-22] [Q-10] keeps 50 concurrent appends of 5 workers, in one order for every reader, and repeats add none', async () => {
    const { root, notes } = await writers(5, 10);
    const threadId = await scratchpadOf(world, root.runId);
    const seen: string[][] = [];
    let writing = true;
    const reader = (async () => {
      while (writing) seen.push((await pads.read(world.tenantId, threadId)).entries.map((entry) => entry.text));
    })();
    await Promise.all(notes.flatMap((note) => [note, note]).map((note) => pads.settle(note, { operation: 'append', text: note })));
    writing = false;
    await reader;
    for (const note of notes) expect(await pads.settle(note, { operation: 'append', text: 'again' })).toBeNull();
    const entries = (await pads.read(world.tenantId, threadId)).entries;
    expect(new Set(entries.map((entry) => entry.text))).toEqual(new Set(notes));
    expect(entries).toHaveLength(50);
    const order = entries.map((entry) => entry.text);
    // what a reader has seen is a prefix: nothing ever appears before it later
    for (const early of seen) expect(order.slice(0, early.length)).toEqual(early);
    expect(new Set(entries.map((entry) => entry.sequenceNo)).size).toBe(50);
    expect(await world.count('run_events', `root_run_id = ? AND body LIKE '%"append"%' AND body LIKE '%"success"%'`, [root.runId])).toBe(50);
    expect(entries.every((entry) => entry.kind === 'finding' && entry.author === 'worker')).toBe(true);
  });

  it('lets the supervisor overwrite the body, once per call', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [noteCall(attemptId, 0, 'update_scratchpad'), noteCall(attemptId, 1, 'update_scratchpad')] });
    const [first, second] = settled.calls.map((call) => call.toolCallId);
    await pads.settle(first!, { operation: 'update', content: 'Plan A' });
    await pads.settle(second!, { operation: 'update', content: 'Plan B' });
    await pads.settle(first!, { operation: 'update', content: 'Plan A again' });
    expect(await pads.read(world.tenantId, await scratchpadOf(world, runId))).toMatchObject({ body: 'Plan B', revision: 2, entries: [] });
    expect(await pads.resultOf(first!)).toMatchObject({ kind: 'text' });
  });

  it('settles a refusal as an error result and writes nothing', async () => {
    const { root, notes } = await writers(1, 1);
    await pads.settle(notes[0]!, { kind: 'error', code: 'TOOL_ARGUMENTS_INVALID', message: 'no note' });
    expect(await pads.resultOf(notes[0]!)).toMatchObject({ code: 'TOOL_ARGUMENTS_INVALID' });
    expect((await pads.read(world.tenantId, await scratchpadOf(world, root.runId))).entries).toEqual([]);
  });

  it('[Q-18] writes nothing after a cancel, and nothing after the run has ended', async () => {
    const { root, notes } = await writers(1, 2);
    await new CancelRepository(world.sql).request(world.tenantId, root.runId);
    await pads.settle(notes[0]!, { operation: 'append', text: 'too late' });
    expect(await pads.resultOf(notes[0]!)).toMatchObject({ code: 'RUN_CANCELLED' });
    const worker = root.workers[0]!;
    const fence = { tenantId: world.tenantId, runId: worker, rootRunId: root.runId, leaseEpoch: 1, incarnation: await readIncarnation(world.sql) };
    await world.journal.endRun(fence, null, ending('cancelled', { kind: 'error', code: 'RUN_CANCELLED', message: 'cancelled' }));
    expect(await pads.pending(notes[1]!)).toBeNull();
    expect(await pads.settle(notes[1]!, { operation: 'append', text: 'much too late' })).toBeNull();
    expect((await pads.read(world.tenantId, await scratchpadOf(world, root.runId))).entries).toEqual([]);
  });

  it('[Q-26] shows another tenant nothing', async () => {
    const { root, notes } = await writers(1, 1);
    await pads.settle(notes[0]!, { operation: 'append', text: 'secret' });
    await world.sql.change(`UPDATE scratchpads SET body = 'secret plan' WHERE thread_id = ?`, [await scratchpadOf(world, root.runId)]);
    expect(await pads.read(mint<TenantId>('ten'), await scratchpadOf(world, root.runId))).toEqual({ body: '', revision: 0, entries: [] });
  });

  it('knows nothing of a call without a row', async () => {
    const unknown = mint<ToolCallId>('call');
    expect(await pads.pending(unknown)).toBeNull();
    expect(await pads.settle(unknown, { operation: 'append', text: 'x' })).toBeNull();
    await expect(pads.resultOf(unknown)).rejects.toMatchObject({ code: 'JOURNAL_INVALID' });
  });
});
