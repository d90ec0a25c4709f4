import { fork, type ChildProcess } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assertNever, QuaestorError } from '#contracts';
import { killedItsProcess, type SettledOutcome } from '#domain';
import { environment } from '#platform';
import type { ChildTask, ErrorWords, MessageToChild, MessageToParent, ParentPorts } from './messages.ts';

/** The compiled child beside compiled code, the source beside source. */
const EXTENSION = extname(import.meta.url);
const CHILD_PATH = fileURLToPath(new URL(`./child${EXTENSION}`, import.meta.url));
/** A call that eats memory dies of it alone, long before the machine notices. */
const HEAP_MEGABYTES = 512;
const START_TIMEOUT_MS = 30_000;
/** What a process needs to reach the web as its parent does; no address of a store, no key. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_USE_SYSTEM_CA', 'NODE_COMPILE_CACHE'];

export interface CallProcessOptions {
  task: ChildTask;
  /** Longest execution, counted from the start of the process's work. */
  timeoutMs: number;
  ports: ParentPorts;
  /** Module that exports `PLATFORM_TOOLS`. */
  toolsModule: string;
}

/**
 * The process of one call, from its start to its end; it is told to end when this settles. Throws what the tool throws, `TOOL_TIMEOUT`,
 * `TOOL_KILLED_PROCESS` when the process died after it was given the call, `TOOL_FAILED` when it could not even be started, the error of
 * a port that is no `QuaestorError` (a failure of the stores is nothing the call has to answer for), and the signal's reason.
 */
export async function runInProcess({ task, timeoutMs, ports, toolsModule }: CallProcessOptions, signal: AbortSignal): Promise<SettledOutcome> {
  signal.throwIfAborted();
  const child = startChild(toolsModule);
  const { promise, resolve, reject } = Promise.withResolvers<SettledOutcome>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  let isAtWork = false;
  let timer = setTimeout(() => reject(notStarted()), START_TIMEOUT_MS);
  child.on('error', (error) => reject(notStarted(error)));
  // comes after the last message, which `exit` may overtake
  child.on('close', () => reject(isAtWork ? killedItsProcess() : notStarted()));
  child.on('message', (message: MessageToParent) => {
    switch (message.kind) {
      case 'ready':
        isAtWork = true;
        clearTimeout(timer);
        timer = setTimeout(() => reject(timedOut(timeoutMs)), timeoutMs);
        return send(child, { kind: 'task', task });
      case 'question':
        return void answer(child, ports, message).catch(reject);
      case 'outcome':
        return resolve(message.outcome);
      case 'failure':
        return reject(errorOf(message.error));
      default:
        return assertNever(message);
    }
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    child.kill('SIGKILL');
  }
}

/** Import conditions decide which files a name stands for: sources, the build, or a planted bug; the child must see the same ones. */
function startChild(toolsModule: string): ChildProcess {
  const inherited = process.execArgv.filter((argument) => argument.startsWith('--conditions='));
  const conditions = EXTENSION === '.ts' ? [...inherited, '--conditions=source'] : inherited;
  const own = environment();
  return fork(CHILD_PATH, [toolsModule], {
    execArgv: [...conditions, `--max-old-space-size=${HEAP_MEGABYTES}`],
    env: Object.fromEntries(PASSED_VARIABLES.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** A child that cannot be told is about to end, and that is what counts. */
const send = (child: ChildProcess, message: MessageToChild): void => void child.send(message, () => undefined);

/** Ours goes to the tool, which may make something of it; anything else ends the call from here, with the error as it is. */
async function answer(child: ChildProcess, ports: ParentPorts, { id, port, args }: Extract<MessageToParent, { kind: 'question' }>): Promise<void> {
  try {
    const value: unknown = await (ports[port] as (...given: unknown[]) => Promise<unknown>)(...args);
    send(child, { kind: 'answer', id, value });
  } catch (error) {
    if (!(error instanceof QuaestorError)) throw error;
    send(child, { kind: 'refusal', id, error: { code: error.code, message: error.message } });
  }
}

const errorOf = ({ code, message }: ErrorWords): Error => (code === null ? new Error(`a tool failed with ${message}`) : new QuaestorError(code, message));

const notStarted = (cause?: unknown): QuaestorError => new QuaestorError('TOOL_FAILED', 'The process for this call could not be started.', { cause });

const timedOut = (timeoutMs: number): QuaestorError => new QuaestorError('TOOL_TIMEOUT', `The call took longer than ${Math.round(timeoutMs / 1000)} s and was stopped.`);
