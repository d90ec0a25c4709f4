import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, startCli } from './spec-support/run-cli.ts';

const home = mkdtempSync(path.join(tmpdir(), 'quaestor-own-stack-'));
const docs = path.join(home, 'handbook');
const env: Record<string, string> = { QUAESTOR_DIRECTORY: path.join(home, '.local') };
let model: Server;
let answers = false;
let asked: () => void = () => undefined;

/** A model that keeps everybody waiting until `answers`. */
function answer(response: ServerResponse): void {
  asked();
  if (!answers) return;
  const chunk = (delta: object, finish: string | null): string => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'spec', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${chunk({ role: 'assistant', content: 'Nothing is known about it.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`);
}

beforeAll(async () => {
  mkdirSync(docs);
  writeFileSync(path.join(docs, 'leases.md'), '# Leases\n\nThe database lease lasts 3 seconds and is renewed by one batched heartbeat per process every second.\n');
  model = createServer((request, response) => {
    request.resume().once('end', () => answer(response));
  });
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  model.closeAllConnections();
  model.close();
  await runCli(['services', 'stop'], env);
  rmSync(home, { recursive: true, force: true });
});

/** Command lines that name our folder: what a command left running. */
const leftRunning = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(home) || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(home) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') : '';
      } catch {
        return '';
      }
    })
    .filter(Boolean);

describe.skipIf(process.platform !== 'linux')('quaestor research with a stack of its own', { timeout: 120_000 }, () => {
  it('does the whole job from nothing and leaves nothing running', async () => {
    const result = await runCli(['research', 'How are leases renewed?', '--docs', docs], env);
    expect(result.stderr).toContain('completed: answered');
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('renewed by one batched heartbeat per process every second');
    expect(leftRunning()).toEqual([]);
  });

  it('stops everything on Ctrl-C, and the run goes on with "resume"', async () => {
    const withModel = { ...env, MODEL_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`, MODEL_NAME: 'spec', MODEL_API_KEY: 'spec' };
    const modelAsked = new Promise<void>((resolve) => (asked = resolve));
    const cli = startCli(['research', 'What is it?', '--docs', docs], withModel);
    await Promise.race([modelAsked, cli.ended]);
    cli.child.kill('SIGINT');
    const interrupted = await cli.ended;
    const runId = /quaestor resume (run_\w+)/.exec(interrupted.stderr)?.[1];
    expect(runId).toBeDefined();
    expect(interrupted).toMatchObject({ code: 130, stdout: '' });
    expect(leftRunning()).toEqual([]);

    expect((await runCli(['runs'], env)).stdout).toContain(`${runId}  `);
    expect((await runCli(['runs'], env)).stdout).toContain('interrupted');
    answers = true;
    const resumed = await runCli(['resume', runId ?? '', '--json'], withModel);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ run_id: runId, question: 'What is it?', report: expect.stringContaining('Nothing is known about it.') });
    expect([0, 3]).toContain(resumed.code);

    const shown = await runCli(['show', runId ?? ''], env);
    expect(shown.stdout).toContain('Nothing is known about it.');
    expect(leftRunning()).toEqual([]);
  });
});
