import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { AgentWorld } from '#testing';
import { FAKE_KEY, RUN_ID, startFakeGateway } from '../spec-support/fake-gateway.ts';
import { runCli, type CliResult } from '../spec-support/run-cli.ts';

let world: AgentWorld;
let folder: string;
let runId: RunId;
beforeAll(async () => {
  world = await AgentWorld.open();
  folder = mkdtempSync(path.join(tmpdir(), 'quaestor-records-'));
  runId = (await world.newRun()).runId;
  await world.drive(world.dependencies(({ step }) => (step === 0 ? { calls: [{ name: 'update_scratchpad', arguments: { content: 'plan' } }] } : { text: 'Nothing was found.' })), runId);
});
/** Every case is a process or several, on a machine that may be busy. */
const PATIENCE_MS = 120_000;
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world?.close();
});

const place = (name: string): string => path.join(folder, name);
const put = (name: string, content: string | Buffer): string => {
  writeFileSync(place(name), content);
  return place(name);
};
const cli = (...args: string[]): Promise<CliResult> => runCli(args, { QUAESTOR_DIRECTORY: place('.local') });
const onDatabase = (...args: string[]): Promise<CliResult> => cli(...args, '--database', world.database.url);
const count = async (): Promise<number> => Number(await world.one('SELECT COUNT(*) FROM runs'));

async function expectRefusal(result: Promise<CliResult>, sentence: string | RegExp, code = 2): Promise<void> {
  const { stderr, ...rest } = await result;
  expect(rest).toEqual({ code, stdout: '' });
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toMatch(/\n\s+at /);
}

const STRANGER = `run_${'0'.repeat(26)}`;

describe('quaestor session export and import', { timeout: PATIENCE_MS }, () => {
  it('take a run out, and in again as another that is the same step for step', async () => {
    for (const name of ['run.v2.jsonl', 'run.v2.jsonl.zstd']) {
      expect(await onDatabase('session', 'export', runId, place(name))).toEqual({ code: 0, stdout: `${place(name)}\n`, stderr: '' });
      const imported = await onDatabase('session', 'import', place(name));
      expect(imported).toMatchObject({ code: 0, stderr: '' });
      expect(imported.stdout).toMatch(/^run_[0-9a-v]{26}\n$/);
      const { code, stdout } = await onDatabase('replay', imported.stdout.trim());
      expect([code, stdout]).toEqual([0, `same ${imported.stdout.trim()} supervisor: insufficient_evidence (2 attempts, 1 calls, 2 prompts to the byte)\n`]);
    }
  });

  it('say what is wrong, and leave nothing behind', async () => {
    await expectRefusal(onDatabase('session', 'export', STRANGER, place('none.jsonl')), 'There is no run with this id.');
    expect(existsSync(place('none.jsonl'))).toBe(false);
    await expectRefusal(onDatabase('session', 'export', runId, put('taken.jsonl', 'mine')), `${place('taken.jsonl')} exists already`);
    expect(readFileSync(place('taken.jsonl'), 'utf8')).toBe('mine');
    await expectRefusal(onDatabase('session', 'export', runId, place('no-such-folder/run.jsonl')), /no-such-folder.* cannot be written/);
    await expectRefusal(cli('session', 'export', runId, place('none.jsonl')), 'is known here: name the database that has it with --database or DATABASE_URL');
    const before = await count();
    await expectRefusal(onDatabase('session', 'import', place('none.jsonl')), `${place('none.jsonl')} cannot be read`);
    await expectRefusal(onDatabase('session', 'import', folder), `${folder} cannot be read`);
    await expectRefusal(onDatabase('session', 'import', put('empty.jsonl', '')), 'Row 1 of the artifact is missing: the file is empty.');
    await expectRefusal(onDatabase('session', 'import', put('words.jsonl', 'hello\n')), 'Row 1 of the artifact');
    await expectRefusal(onDatabase('session', 'import', put('noise.jsonl.zstd', 'hello')), 'is not whole Zstandard data');
    const whole = readFileSync(place('run.v2.jsonl'), 'utf8');
    await expectRefusal(onDatabase('session', 'import', put('cut.jsonl', whole.slice(0, -40))), /Row \d+ of the artifact is cut off/);
    await expectRefusal(onDatabase('session', 'import', put('changed.jsonl', whole.replace('"text":"Nothing was found."', '"text":"All was found."'))), 'another content than its message');
    await expectRefusal(onDatabase('session', 'import', place('run.v2.jsonl'), '--tenant', 'ten_x'), 'has no tenant ten_x');
    expect(await count()).toBe(before);
  });
});

describe('quaestor session migrate', { timeout: PATIENCE_MS }, () => {
  const rows = [
    { type: 'session', version: 1, id: 's', createdAt: 0, delegationDepth: 0 },
    { type: 'turn/start', seq: 0, time: 0, data: { turn: 0 } },
    { type: 'step/start', seq: 1, time: 1, data: { turn: 0, step: 0 } },
    { type: 'assistant/chunk', seq: 2, time: 2, data: { turn: 0, step: 0, chunk: { type: 'text-delta', index: 0, text: 'half' } } },
    { type: 'step/end', seq: 3, time: 3, data: { turn: 0, step: 0 } },
    { type: 'turn/end', seq: 4, time: 4, data: { turn: 0, reason: { kind: 'completed' } } },
  ];
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');

  it('writes the successor beside the source and says what is in it', async () => {
    const source = put('old.v1.jsonl', text);
    expect(await cli('session', 'migrate', source)).toEqual({ code: 0, stdout: `${place('old.v2.jsonl')}\n`, stderr: '5 events, 0 answers and 1 other attempts with 1 chunks, verified.\n' });
    expect(readFileSync(source, 'utf8')).toBe(text);
  });

  it('says what is wrong, and leaves nothing behind', async () => {
    await expectRefusal(cli('session', 'migrate', place('old.v1.jsonl')), `${place('old.v2.jsonl')} exists already`);
    await expectRefusal(cli('session', 'migrate', place('none.jsonl')), `${place('none.jsonl')} cannot be read`);
    await expectRefusal(cli('session', 'migrate', put('old.txt', text)), 'its name must end in .jsonl or .jsonl.zstd');
    await expectRefusal(cli('session', 'migrate', place('old.v2.jsonl')), 'has version 2 already');
    await expectRefusal(cli('session', 'migrate', put('torn.jsonl', text.slice(0, -9))), 'Row 6 of the artifact is cut off');
    await expectRefusal(cli('session', 'migrate', put('bad.jsonl', text.replace('turn/end', 'turn/stop'))), 'Row 6 of the artifact has the type "turn/stop"');
    const recovered = await cli('session', 'migrate', '--recover', place('torn.jsonl'));
    expect(recovered).toMatchObject({ code: 0, stderr: expect.stringContaining('The end of the source was left out: Row 6 of the artifact is cut off') });
    rmSync(place('torn.v2.jsonl'));
    expect(['torn', 'bad', 'none'].filter((name) => existsSync(place(`${name}.v2.jsonl`)))).toEqual([]);
  });
});

describe('quaestor replay', { timeout: PATIENCE_MS }, () => {
  it('says what it cannot replay', async () => {
    await expectRefusal(onDatabase('replay', STRANGER), 'There is no run with this id.');
    await expectRefusal(cli('replay', runId), 'is known here');
    await expectRefusal(cli('replay', 'run_1'), 'must be a run id');
    await expectRefusal(cli('replay', runId, '--database', 'mysql://root@127.0.0.1:9/none'), '127.0.0.1', 7);
  });

  it('forks through the API and follows the fork to its end', async () => {
    const gateway = await startFakeGateway({ stopReason: 'answered', report: 'Another report.' });
    try {
      const toGateway = ['--url', gateway.url, '--key', FAKE_KEY];
      const { code, stdout, stderr } = await cli('replay', RUN_ID, '--from', '2', '--fork', '--budget', '20', ...toGateway);
      expect([code, stdout]).toEqual([0, 'Another report.\n']);
      expect(stderr).toContain(`goes on from turn 2 of ${RUN_ID}`);
      expect(gateway.created).toEqual([{ from_turn: 2, budget_credits: 20 }]);
      await expectRefusal(cli('replay', RUN_ID, '--fork', ...toGateway), 'A fork needs both --from TURN and --fork.');
      await expectRefusal(cli('replay', RUN_ID, '--from', '0', '--fork', ...toGateway), 'whole number from 1');
      await expectRefusal(cli('replay', STRANGER, '--from', '1', '--fork', ...toGateway), `No run ${STRANGER} is known here: give the gateway that has it with --url and --key.`);
    } finally {
      gateway.close();
    }
  });
});
