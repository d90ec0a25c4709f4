import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { waitUntil } from '#testing';
import { ChildPool } from './child-pool.ts';
import type { ExtractionTask } from './messages.ts';

const never = new AbortController().signal;
const page: ExtractionTask = { kind: 'html', url: 'https://example.com/', html: `<html><body>${'<p>Velvet moths prefer amber light over green light.</p>'.repeat(20)}</body></html>` };
/** Enough elements that every parser is busy for seconds. */
const heavy: ExtractionTask = { kind: 'html', url: 'https://example.com/', html: `<html><body>${'<span>x</span> '.repeat(300_000)}</body></html>` };

const pools: ChildPool[] = [];
afterEach(() => {
  for (const pool of pools.splice(0)) pool.close();
});
function createPool(size: number): ChildPool {
  const pool = new ChildPool(size);
  pools.push(pool);
  return pool;
}
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Runs a script in a process of its own that owns a pool. */
function runOwner(script: string) {
  const program = `
    import { ChildPool } from ${JSON.stringify(new URL('./child-pool.ts', import.meta.url).href)};
    const pool = new ChildPool(1);
    const page = ${JSON.stringify(page)};
    const never = new AbortController().signal;
    ${script}`;
  const owner = spawn(process.execPath, ['--conditions=source', '--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  owner.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { process: owner, output: () => output.trim() };
}

describe('ChildPool', () => {
  it('starts children only when asked, and never more than its size', async () => {
    const pool = createPool(2);
    expect(pool.pids).toEqual([]);
    const answers = await Promise.all(Array.from({ length: 12 }, () => pool.run(page, 10_000, never)));
    expect(answers.every((answer) => answer.ok)).toBe(true);
    expect(pool.pids.length).toBeGreaterThan(0);
    expect(pool.pids.length).toBeLessThanOrEqual(2);
  });

  it('[Q-17] kills a task at its time limit and works on with a new child', async () => {
    const pool = createPool(1);
    await pool.run(page, 10_000, never);
    const [first] = pool.pids;
    const waiting = pool.run(heavy, 200, never);
    const next = pool.run(page, 10_000, never);
    await expect(waiting).rejects.toMatchObject({ reason: 'timeout' });
    expect(await next).toMatchObject({ ok: true });
    expect(pool.pids).not.toContain(first);
    await waitUntil(() => !isAlive(first ?? 0), { what: 'the end of the killed child' });
  });

  it('[Q-17] survives a child that dies', async () => {
    const pool = createPool(1);
    await pool.run(page, 10_000, never);
    const waiting = pool.run(heavy, 60_000, never);
    process.kill(pool.pids[0] ?? 0, 'SIGKILL');
    await expect(waiting).rejects.toMatchObject({ reason: 'crashed' });
    expect(await pool.run(page, 10_000, never)).toMatchObject({ ok: true });
  });

  it('an abort rejects running and waiting tasks, each alone', async () => {
    const pool = createPool(1);
    await pool.run(page, 10_000, never);
    const [running, queued] = [new AbortController(), new AbortController()];
    const first = pool.run(heavy, 60_000, running.signal);
    const second = pool.run(heavy, 60_000, queued.signal);
    const third = pool.run(page, 10_000, never);
    queued.abort();
    await expect(second).rejects.toMatchObject({ reason: 'aborted' });
    running.abort();
    await expect(first).rejects.toMatchObject({ reason: 'aborted' });
    expect(await third).toMatchObject({ ok: true });
    await expect(pool.run(page, 10_000, AbortSignal.abort())).rejects.toMatchObject({ reason: 'aborted' });
  });

  it('close ends everything, twice too', async () => {
    const pool = createPool(2);
    await pool.run(page, 10_000, never);
    const pids = pool.pids;
    const waiting = [pool.run(heavy, 60_000, never), pool.run(heavy, 60_000, never), pool.run(heavy, 60_000, never)];
    pool.close();
    pool.close();
    for (const task of waiting) await expect(task).rejects.toMatchObject({ reason: 'aborted' });
    for (const pid of pids) await waitUntil(() => !isAlive(pid), { what: 'the end of the children' });
  });

  it('replaces a child after 200 tasks', async () => {
    const pool = createPool(1);
    const small: ExtractionTask = { kind: 'html', url: 'https://example.com/', html: '<html><body><p>a</p></body></html>' };
    await pool.run(small, 10_000, never);
    const [first] = pool.pids;
    for (let task = 0; task < 200; task++) await pool.run(small, 10_000, never);
    expect(pool.pids).not.toContain(first);
  });

  it('an idle child does not keep its process alive', async () => {
    const { process: owner, output } = runOwner('console.log((await pool.run(page, 10_000, never)).ok);');
    const [code] = (await once(owner, 'close')) as [number];
    expect([output(), code]).toEqual(['true', 0]);
  });

  it('a child ends by itself when its owner is killed', async () => {
    const { process: owner, output } = runOwner('await pool.run(page, 10_000, never); console.log(pool.pids[0]); setInterval(() => undefined, 1_000);');
    const pid = Number(await waitUntil(() => output() || null, { what: 'the process id of the child' }));
    expect(isAlive(pid)).toBe(true);
    owner.kill('SIGKILL');
    await waitUntil(() => !isAlive(pid), { what: 'the end of the orphan' });
  });
});
