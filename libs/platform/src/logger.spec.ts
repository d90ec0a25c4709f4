import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { QuaestorError } from '#contracts';
import { describe, expect, it } from 'vitest';
import { createLogger, nestLogger } from './logger.ts';

function capture(): { lines: Record<string, unknown>[]; destination: { write(line: string): void } } {
  const lines: Record<string, unknown>[] = [];
  return { lines, destination: { write: (line) => lines.push(JSON.parse(line)) } };
}

describe('logger', () => {
  it('never writes credentials', () => {
    const { lines, destination } = capture();
    const logger = createLogger({ service: 'spec', destination });
    logger.info({ req: { headers: { authorization: 'Bearer s3cret', 'x-api-key': 's3cret' } }, apiKey: 's3cret', model: { apiKey: 's3cret' } }, 'request');
    expect(lines[0]).toMatchObject({ level: 'info', service: 'spec', msg: 'request' });
    expect(JSON.stringify(lines)).not.toContain('s3cret');
  });

  it('writes our errors with code, details and cause', () => {
    const { lines, destination } = capture();
    const error = new QuaestorError('MODEL_TIMEOUT', 'The model did not answer.', { details: { afterMs: 5 }, cause: new QuaestorError('MODEL_UNREACHABLE', 'No route.') });
    createLogger({ service: 'spec', destination }).warn({ err: error }, 'attempt failed');
    expect(lines[0]?.['err']).toEqual({ code: 'MODEL_TIMEOUT', message: 'The model did not answer.', details: { afterMs: 5 }, cause: { code: 'MODEL_UNREACHABLE', message: 'No route.', details: {} } });
  });

  it('keeps the context of framework lines and hides start-up chatter', () => {
    const { lines, destination } = capture();
    const nest = nestLogger(createLogger({ service: 'spec', destination }));
    nest.log('Mapped {/v1/runs, POST} route', 'RouterExplorer');
    nest.error('broken', 'Error: broken\n    at here', 'ExceptionsHandler');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'error', msg: 'broken', context: 'ExceptionsHandler', stack: 'Error: broken\n    at here' });
  });

  it('survives a reader that goes away', async () => {
    const loggerModule = fileURLToPath(new URL('./logger.ts', import.meta.url));
    const program = `const { createLogger } = await import(${JSON.stringify(loggerModule)});
      const logger = createLogger({ service: 'spec' });
      process.stdin.resume().on('end', () => {
        let left = 200;
        const timer = setInterval(() => { logger.info('x'.repeat(1000)); if (--left === 0) { clearInterval(timer); console.log('alive'); } }, 1);
      });`;
    const child = spawn(process.execPath, ['--conditions=source', '--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stderr.destroy();
    child.stdin.end();
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(output).toBe('alive\n');
  });
});
