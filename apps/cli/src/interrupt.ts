import { QuaestorError } from '#contracts';
import { environment } from '#platform';

const EXIT_CODE_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143 } as const;
/** npm passes on a Ctrl-C that the terminal has already sent: two within this time are one. */
const SAME_SIGNAL_MS = 300;

const PARENT_WATCH_MS = 500;

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
  if (environment()['npm_lifecycle_event']) onParentGone(() => handle('SIGTERM'));
  return { signal: controller.signal, exitCode: () => first?.code };
}

/** npm runs us through a shell that dies of the SIGTERM npm passes on, and does not pass it on itself: its end is our signal. */
function onParentGone(then: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    then();
  }, PARENT_WATCH_MS);
  timer.unref();
}
