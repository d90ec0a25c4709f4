import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Shutdown } from './shutdown.ts';

describe('shutdown', () => {
  it('runs steps once, the last registered first, and goes on after one that fails', async () => {
    const order: string[] = [];
    const problems: string[] = [];
    const shutdown = new Shutdown({ onProblem: (step) => problems.push(step) });
    for (const name of ['database', 'queue', 'http']) {
      shutdown.onShutdown(name, async () => {
        order.push(name);
        if (name === 'queue') throw new Error('closed already');
      });
    }
    await Promise.all([shutdown.stop(), shutdown.stop()]);
    expect(order).toEqual(['http', 'queue', 'database']);
    expect(problems).toEqual(['queue']);
  });

  it('gives up on a step that hangs when the grace time is over, and names it', async () => {
    const problems: string[] = [];
    const shutdown = new Shutdown({ graceMs: 20, onProblem: (step) => problems.push(step) });
    shutdown.onShutdown('stuck', () => new Promise(() => undefined));
    await shutdown.stop();
    expect(problems).toEqual(['stuck']);
  });

  it.each([
    { signals: 1, expected: [0, null], output: 'started\ndrained\n' },
    { signals: 2, expected: [143, null], output: 'started\n' },
  ])('$signals signal(s): a process drains on the first and exits at once on the second', async ({ signals, expected, output }) => {
    const module = fileURLToPath(new URL('./shutdown.ts', import.meta.url));
    const drainMs = signals === 1 ? 1 : 60_000;
    const program = `const { Shutdown } = await import(${JSON.stringify(module)});
      const shutdown = new Shutdown({ graceMs: 120_000, sameSignalMs: 0 });
      const alive = setInterval(() => {}, 1000);
      shutdown.onShutdown('drain', () => { process.send('draining'); return new Promise((done) => setTimeout(() => { console.log('drained'); done(); }, ${drainMs})); });
      shutdown.listenToSignals();
      console.log('started');
      process.send('ready');`;
    const child = spawn(process.execPath, ['--conditions=source', '--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    let printed = '';
    child.stdout?.on('data', (data) => (printed += data));
    await once(child, 'message');
    for (let sent = 0; sent < signals; sent++) {
      child.kill('SIGTERM');
      if (sent === 0) await once(child, 'message');
    }
    expect(await once(child, 'close')).toEqual(expected);
    expect(printed).toBe(output);
  });
});
