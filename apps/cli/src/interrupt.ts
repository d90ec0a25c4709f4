import { QuaestorError } from '#contracts';

const EXIT_CODE_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143 } as const;
/** npm passes on a Ctrl-C that the terminal has already sent: two within this time are one. */
const SAME_SIGNAL_MS = 300;

export interface Interrupt {
  /** Aborted by the first Ctrl-C (or SIGTERM). */
  signal: AbortSignal;
  /** The exit code that signal asks for; undefined as long as none came. */
  exitCode(): number | undefined;
}

/**
 * First signal: `signal` aborts, and the command cleans up. Second one: `hardStop` runs and the process exits at once. Install once per process.
 */
export function listenForInterrupt(hardStop: () => void): Interrupt {
  const controller = new AbortController();
  let first: { code: number; atMs: number } | undefined;
  const handle = (name: NodeJS.Signals): void => {
    const code = EXIT_CODE_BY_SIGNAL[name === 'SIGTERM' ? 'SIGTERM' : 'SIGINT'];
    if (!first) {
      first = { code, atMs: performance.now() };
      controller.abort(new QuaestorError('RUN_CANCELLED', 'Interrupted.'));
    } else if (performance.now() - first.atMs >= SAME_SIGNAL_MS) {
      hardStop();
      process.exit(code);
    }
  };
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
  process.on('SIGHUP', handle);
  return { signal: controller.signal, exitCode: () => first?.code };
}
