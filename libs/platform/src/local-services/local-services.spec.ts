import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { keepLocalServices } from './keep-local-services.ts';
import { reviveLocalServices, startLocalServices, statusLocalServices, stopLocalServices } from './local-services.ts';

const NO_URLS = { PATH: process.env['PATH'] };
let directory = '';

beforeAll(async () => {
  directory = path.join(await mkdtemp(path.join(tmpdir(), 'quaestor-services-')), '.local');
});
afterAll(async () => {
  await stopLocalServices(directory);
  await rm(path.dirname(directory), { recursive: true, force: true });
});

const start = () => startLocalServices({ directory, env: NO_URLS });
const pids = async (): Promise<(number | undefined)[]> => (await statusLocalServices(directory)).map((service) => service.pid);

async function query<Row>(url: string, sql: string): Promise<Row[]> {
  const connection = await createConnection(url);
  try {
    return (await connection.query(sql))[0] as Row[];
  } finally {
    await connection.end();
  }
}

describe('local services', () => {
  it('start both servers, durable and private, and stop them again', async () => {
    const services = await start();
    expect(services.startedByUs).toBe(true);
    const variables = await query<{ Variable_name: string; Value: string }>(
      services.databaseUrl,
      "SHOW VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'tx_isolation', 'transaction_isolation', 'bind_address', 'log_bin')",
    );
    const values = new Set(variables.map((variable) => variable.Value));
    expect(values).toEqual(new Set(['1', 'READ-COMMITTED', '127.0.0.1', 'OFF']));
    expect(await query(services.databaseUrl, 'SELECT DATABASE() AS name')).toEqual([{ name: 'quaestor' }]);
    expect((await stat(path.join(directory, 'services.json'))).mode & 0o077).toBe(0);
    await services.stop();
    expect(await statusLocalServices(directory)).toEqual([
      { name: 'redis', running: false },
      { name: 'database', running: false },
    ]);
  });

  it('use running servers again, also from another process, and stop with the last user', async () => {
    const services = await start();
    const before = await pids();
    const module = fileURLToPath(new URL('./local-services.ts', import.meta.url));
    const program = `const { startLocalServices } = await import(${JSON.stringify(module)});
      const services = await startLocalServices({ directory: ${JSON.stringify(directory)}, env: { PATH: process.env.PATH } });
      process.send(services.startedByUs); process.once('message', async () => { await services.stop(); process.disconnect(); });`;
    const other = spawn(process.execPath, ['--conditions=source', '--input-type=module', '-e', program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    expect(await once(other, 'message')).toEqual([false, undefined]);
    await services.stop();
    expect(await pids()).toEqual(before);
    other.send('leave');
    await once(other, 'close');
    expect(await pids()).toEqual([undefined, undefined]);
  });

  it('start once when two processes start at the same time', async () => {
    const module = fileURLToPath(new URL('./local-services.ts', import.meta.url));
    const program = `const { startLocalServices } = await import(${JSON.stringify(module)});
      const services = await startLocalServices({ directory: ${JSON.stringify(directory)}, env: { PATH: process.env.PATH }, keep: true });
      console.log(JSON.stringify([services.startedByUs, services.redisUrl, services.databaseUrl]));`;
    const outputs = await Promise.all(
      [1, 2, 3].map(async () => {
        const child = spawn(process.execPath, ['--conditions=source', '--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
        let output = '';
        child.stdout.on('data', (data) => (output += data));
        await once(child, 'close');
        return JSON.parse(output) as [boolean, string, string];
      }),
    );
    expect(outputs.filter(([startedByUs]) => startedByUs)).toHaveLength(1);
    expect(new Set(outputs.map(([, ...urls]) => urls.join())).size).toBe(1);
    expect(await stopLocalServices(directory)).toEqual(['redis', 'database']);
  });

  it('recover after kill -9 with the data that was committed', async () => {
    const services = await start();
    await query(services.databaseUrl, 'CREATE TABLE kept (id INT PRIMARY KEY)');
    await query(services.databaseUrl, 'INSERT INTO kept VALUES (7)');
    for (const pid of await pids()) process.kill(pid ?? 0, 'SIGKILL');
    const again = await start();
    expect(again.startedByUs).toBe(true);
    expect(again.databaseUrl).toBe(services.databaseUrl);
    expect(await query(again.databaseUrl, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
  });

  it('never signal a process that only has the recorded pid', async () => {
    const services = await start();
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore' });
    try {
      const file = path.join(directory, 'services.json');
      const state = JSON.parse(await readFile(file, 'utf8'));
      const redisPid = state.redis.process.pid as number;
      state.redis.process.pid = bystander.pid;
      await writeFile(file, JSON.stringify(state));
      const again = await start();
      expect(again.startedByUs).toBe(true);
      expect(bystander.exitCode).toBeNull();
      expect(bystander.signalCode).toBeNull();
      expect((await pids())[0]).not.toBe(redisPid);
      await services.stop();
    } finally {
      bystander.kill();
    }
  });

  it('[Q-14] come back by themselves at the same address after kill -9, and stay down when stopped on purpose', async () => {
    const lines: string[] = [];
    const kept = await keepLocalServices({ directory, env: NO_URLS, log: (line) => lines.push(line) });
    for (const pid of await pids()) if (pid) process.kill(pid, 'SIGKILL');
    await vi.waitUntil(() => lines.length > 0, { timeout: 10_000 });
    expect(lines).toEqual(['had ended and was started again: redis, database']);
    expect(await query(kept.databaseUrl, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
    await stopLocalServices(directory);
    expect(await reviveLocalServices({ directory, env: NO_URLS })).toEqual([]);
    await kept.stop();
  });

  it('start again on the same data when services.json is lost, without a second server beside the first', async () => {
    await start();
    const [, databasePid] = await pids();
    await rm(path.join(directory, 'services.json'));
    const again = await start();
    expect(await query(again.databaseUrl, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
    expect(spawnSync('kill', ['-0', String(databasePid)]).status).not.toBe(0);
  });

  it('take over the lock of a process that died', async () => {
    await writeFile(path.join(directory, 'services.lock'), JSON.stringify({ pid: 2 ** 22 - 1, startedAt: '1' }));
    const services = await start();
    await services.stop();
    await expect(stat(path.join(directory, 'services.lock'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('refuse a folder that cannot be made', async () => {
    const file = path.join(directory, 'a-file');
    await writeFile(file, '');
    await expect(startLocalServices({ directory: path.join(file, 'below'), env: {} })).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('QUAESTOR_DIRECTORY') });
  });

  it('start nothing when both addresses are given', async () => {
    const unused = path.join(directory, 'unused');
    const services = await startLocalServices({ directory: unused, env: { REDIS_URL: 'redis://r', DATABASE_URL: 'mysql://d/q' } });
    expect(services).toMatchObject({ redisUrl: 'redis://r', databaseUrl: 'mysql://d/q', startedByUs: false });
    await expect(stat(unused)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('start only what has no address', async () => {
    const services = await startLocalServices({ directory, env: { ...NO_URLS, DATABASE_URL: 'mysql://d/q' } });
    expect(services.databaseUrl).toBe('mysql://d/q');
    expect((await statusLocalServices(directory)).map(({ name, running }) => [name, running])).toEqual([
      ['redis', true],
      ['database', false],
    ]);
    await services.stop();
  });
});
