import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from './spec-support/run-cli.ts';

let folder = '';
let env: Record<string, string> = {};
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'quaestor-cli-'));
  env = { QUAESTOR_DIRECTORY: path.join(folder, '.local') };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function refuses(args: string[], code: number, message: RegExp, more: Record<string, string> = {}, input = ''): Promise<void> {
  const result = await runCli(args, { ...env, ...more }, input);
  expect(result.stderr).toMatch(message);
  expect(result.stderr).not.toMatch(/\n\s+at /);
  expect(result).toMatchObject({ code, stdout: '' });
  expect(await readdir(folder)).not.toContain('.local');
}

describe('the command line refuses before anything starts', () => {
  it('an empty question', () => refuses(['research', ' \u0007 '], 2, /question is empty/));
  it('an empty question from standard input', () => refuses(['research', '-'], 2, /question is empty/, {}, '\n'));
  it('no question', () => refuses(['research'], 2, /missing required argument/));
  it('a question of more than 20,000 characters', () => refuses(['research', '-'], 2, /more than 20,000 characters/, {}, 'x'.repeat(20_001)));
  it('limits out of range', () => refuses(['research', 'q', '--workers', '0'], 2, /whole number from 1 to 64/));
  it('a negative budget', () => refuses(['research', 'q', '--budget=-1'], 2, /number from 0/));
  it('an unknown option', () => refuses(['research', 'q', '--buget', '3'], 2, /Did you mean --budget/));
  it('an unknown command', () => refuses(['reserch'], 2, /Did you mean research/));
  it('a document folder that does not exist', () => refuses(['research', 'q', '--docs', path.join(folder, 'none')], 2, /none does not exist/));
  it('a document folder that is a file', async () => {
    const file = path.join(folder, 'file.md');
    await writeFile(file, 'x');
    await refuses(['research', 'q', '--docs', file], 2, /is not a folder/);
  });
  it('a document folder without documents', async () => {
    const empty = await mkdtemp(path.join(folder, 'empty-'));
    await writeFile(path.join(empty, 'picture.png'), 'x');
    await refuses(['research', 'q', '--docs', empty], 2, /holds no document \(\.md/);
  });
  it('something that is no run id', () => refuses(['show', '42'], 2, /must be a run id/));
  it('a run that nobody here knows', () => refuses(['show', 'run_0123456789abcdefghijklmnop'], 2, /No run run_0123456789abcdefghijklmnop is known here/));
  it('a gateway without a key', () => refuses(['runs', '--url', 'http://127.0.0.1:9'], 2, /QUAESTOR_API_KEY/));
  it('a running gateway together with a folder', () => refuses(['research', 'q', '--url', 'http://127.0.0.1:9', '--docs', '.'], 2, /either --url or --docs/));
  it('all bad settings at once', () => refuses(['runs'], 2, /GATEWAY_PORT: .*\n.*QUAESTOR_URL: |QUAESTOR_URL: .*\n.*GATEWAY_PORT: /, { GATEWAY_PORT: 'x', QUAESTOR_URL: 'nowhere' }));
  it('all bad settings of all services at once', () =>
    refuses(['runs'], 2, /^(?=[^]*GATEWAY_PORT: )(?=[^]*MODEL_BASE_URL: [^\n]*Allowed: )(?=[^]*WEB_PAGE_BYTES_MAX: )(?=[^]*LEASE_TTL_MS: )(?![^]*ADMIN_KEY)[^]*not valid:\n/, { GATEWAY_PORT: 'x', MODEL_BASE_URL: 'foo', WEB_PAGE_BYTES_MAX: '-1', LEASE_TTL_MS: 'soon' }));
  it('a database address that is none', () => refuses(['research', 'q'], 2, /DATABASE_URL: /, { DATABASE_URL: 'nonsense' }));
  it('a misspelt setting of ours', () => refuses(['runs'], 2, /QUAESTOR_APIKEY: no such setting/, { QUAESTOR_APIKEY: 'x' }));

  it('a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const docs = await mkdtemp(path.join(folder, 'docs-'));
    await writeFile(path.join(docs, 'a.md'), 'text');
    const { port } = server.address() as AddressInfo;
    await refuses(['start', '--port', String(port), '--docs', docs], 2, new RegExp(`Port ${port} .* is in use`));
    server.close();
  });
});

describe('the command line', () => {
  it('prints help and version on standard output with exit code 0', async () => {
    expect(await runCli(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' });
    for (const command of ['research', 'start', 'resume', 'cancel', 'runs', 'show', 'services', 'migrate']) {
      const { code, stdout } = await runCli([command, '--help']);
      expect(code).toBe(0);
      expect(stdout).toContain(`Examples:\n`);
    }
  });

  it('exits 7 when a named gateway cannot be reached', async () => {
    const result = await runCli(['runs', '--url', 'http://127.0.0.1:9', '--key', 'qk_x'], env);
    expect(result).toMatchObject({ code: 7, stdout: '' });
  });

  it('lists nothing where nothing has run', async () => {
    expect(await runCli(['runs', '--json'], env)).toMatchObject({ code: 0, stdout: '[]\n' });
  });
});
