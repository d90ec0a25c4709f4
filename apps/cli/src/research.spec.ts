import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { STOP_REASONS, type StopReason } from '#contracts';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { FAKE_KEY, RUN_ID, startFakeGateway, type FakeGateway } from './spec-support/fake-gateway.ts';
import { runCli, startCli } from './spec-support/run-cli.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'quaestor-research-'));
let gateway: FakeGateway | undefined;
afterEach(() => gateway?.close());
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const env = (): Record<string, string> => ({ QUAESTOR_URL: gateway?.url ?? '', QUAESTOR_API_KEY: FAKE_KEY, QUAESTOR_DIRECTORY: directory });

describe('quaestor research on a running gateway', () => {
  it('prints the report on standard output and everything else on standard error', async () => {
    gateway = await startFakeGateway({
      stopReason: 'answered',
      report: '# Answer\n\nIt is so [1].',
      events: [
        { type: 'run_status', status: 'running' },
        { type: 'research_status', activity: 'Planning', tool: 'plan', state: 'in_progress' },
        { type: 'web_status', tool: 'search', status: 'running', message: 'Searching for it', worker: 2 },
      ],
    });
    const result = await runCli(['research', 'What', 'is', 'it?', '--budget', '7.5', '--workers', '2', '--deadline', '60', '--sources', '3'], env());
    expect(result.stdout).toBe('# Answer\n\nIt is so [1].\n');
    expect(result.stderr).toBe(`run running\nsupervisor: Planning\nworker 2: Searching for it\nrun completed: answered\n✔ completed: answered · 7.5 of 100 credits · 1.5 s · ${RUN_ID}\n`);
    expect(result.code).toBe(0);
    expect(gateway.created).toEqual([{ question: 'What is it?', budget_credits: 7.5, workers: 2, deadline_seconds: 60, source_cap: 3 }]);
  });

  it('prints exactly one JSON object with --json', async () => {
    gateway = await startFakeGateway({ stopReason: 'insufficient_evidence', report: 'Nothing was found.' });
    const { stdout, code } = await runCli(['research', '-', '--json'], env(), 'What is it?\n');
    expect(JSON.parse(stdout)).toMatchObject({ run_id: RUN_ID, status: 'incomplete', stop_reason: 'insufficient_evidence', report: 'Nothing was found.', sources: [], findings: [{ text: 'found' }], budget: { spent: 7.5 }, usage: { workers: 2 }, elapsed_ms: 1_500 });
    expect(code).toBe(3);
  });

  it.each(Object.keys(STOP_REASONS) as StopReason[])('ends with the exit code of %s', async (stopReason) => {
    gateway = await startFakeGateway({ stopReason, report: 'Flagged.' });
    expect((await runCli(['research', 'q'], env())).code).toBe(STOP_REASONS[stopReason].exitCode);
  });

  it('prints no control characters of models and pages', async () => {
    gateway = await startFakeGateway({
      stopReason: 'answered',
      report: 'safe\u001B]0;title\u0007\u001B[31mred',
      events: [{ type: 'source', source_id: 'src_0123456789abcdefghijklmnop' as never, url: 'https://a.example', title: 'a\u001B[2Jb\nc', body_sha256: '' }],
    });
    const { stdout, stderr } = await runCli(['research', 'q'], env());
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(stderr).toContain('source a[2Jb c <https://a.example>\n');
  });

  it('says why a run failed', async () => {
    gateway = await startFakeGateway({ stopReason: 'provider_failed' });
    const result = await runCli(['research', 'q'], env());
    expect(result).toMatchObject({ code: 6, stdout: '' });
    expect(result.stderr).toContain('The model is away.');
  });

  it('stops watching on Ctrl-C, sent twice at once as npm does, and leaves a run of somebody else alone', async () => {
    gateway = await startFakeGateway({ events: [{ type: 'run_status', status: 'running' }] });
    const cli = startCli(['research', 'q'], env());
    await cli.shown('run running');
    cli.child.kill('SIGINT');
    cli.child.kill('SIGINT');
    const result = await cli.ended;
    expect(result).toMatchObject({ code: 130, stdout: '' });
    expect(result.stderr).toContain(`The run goes on: quaestor show ${RUN_ID}`);
  });

  it('exits 2 when the key is refused', async () => {
    gateway = await startFakeGateway({ stopReason: 'answered' });
    const result = await runCli(['research', 'q'], { ...env(), QUAESTOR_API_KEY: 'qk_wrong' });
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain('does not accept the API key');
  });

  it('shows and lists runs', async () => {
    gateway = await startFakeGateway({ stopReason: 'answered', report: 'Report.' });
    expect((await runCli(['research', 'q'], env())).code).toBe(0);
    expect(await runCli(['show', RUN_ID], env())).toMatchObject({ code: 0, stdout: 'Report.\n' });
    expect((await runCli(['runs'], env())).stdout).toMatch(new RegExp(`^${RUN_ID}  2026-01-01 00:00  answered +What is it\\?\n$`));
  });
});
