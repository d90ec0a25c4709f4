import { isTerminal, QuaestorError, type RunView } from '#contracts';
import { exitCodeOfRun } from './exit-codes.ts';
import { createProgressView } from './progress/progress-view.ts';
import { readRunRecord, writeRunRecord } from './records.ts';
import { printResult } from './run-result.ts';
import type { CommandContext } from './context.ts';
import type { Session } from './session.ts';

/**
 * Shows a run until it ends and prints its result. When the user interrupts, it returns at once and says how the run goes on.
 * @returns the exit code.
 */
export async function followRun(context: CommandContext, session: Session, run: RunView, options: { json?: boolean }): Promise<number> {
  const ended = await watch(context, session, run);
  rememberRun(context, session, ended);
  if (!isTerminal(ended.status)) {
    context.terminal.note(session.own ? `Interrupted; stopping ... (Ctrl-C again stops at once). The run can go on later: quaestor resume ${run.id}` : `No longer watching. The run goes on: quaestor show ${run.id}, or quaestor cancel ${run.id}`);
    return context.interrupt.exitCode() ?? exitCodeOfRun(ended);
  }
  await printResult(context.terminal, session.client, ended, options);
  return exitCodeOfRun(ended);
}

async function watch({ terminal, interrupt }: CommandContext, session: Session, run: RunView): Promise<RunView> {
  if (isTerminal(run.status)) return run;
  const view = createProgressView(terminal);
  try {
    const onReconnect = (): void => terminal.note('the gateway does not answer; trying again ...');
    const signal = AbortSignal.any([interrupt.signal, AbortSignal.timeout(overdueAfterMs(run.deadline_at, Date.now()))]);
    for await (const event of session.client.events(run.id, { signal, onReconnect })) view.add(event);
  } finally {
    view.close();
  }
  return interrupt.signal.aborted ? run : endedRun(session, run);
}

/**
 * Services end a run at its deadline, and may take a minute more for its report. Half a minute later they are not working, and waiting is
 * no use.
 */
const OVERDUE_MARGIN_MS = 90_000;

export const overdueAfterMs = (deadlineAt: string, nowMs: number): number => Math.max(0, Date.parse(deadlineAt) - nowMs) + OVERDUE_MARGIN_MS;

async function endedRun(session: Session, { id }: RunView): Promise<RunView> {
  const run = await session.client.getRun(id);
  if (isTerminal(run.status)) return run;
  const logs = session.own ? `: see the logs in ${session.own.stack.logDirectory}` : ': ask who runs the gateway';
  throw new QuaestorError('SERVICE_UNAVAILABLE', `The run ${id} is past its deadline and still ${run.status}, so its services do not work${logs}. It can go on later: quaestor resume ${id}`);
}

/** Notes where a run of our own stack lives, so that it can be resumed and shown later. */
export function rememberRun({ config }: CommandContext, session: Session, run: RunView): void {
  const known = readRunRecord(config.QUAESTOR_DIRECTORY, run.id);
  if (!session.own && !known) return;
  writeRunRecord(config.QUAESTOR_DIRECTORY, {
    run_id: run.id,
    database: session.own?.database ?? known?.database ?? '',
    docs_folder: session.own?.workspace.docsFolder ?? known?.docs_folder ?? null,
    instead_of_web: session.own?.workspace.insteadOfWeb ?? known?.instead_of_web ?? false,
    question: run.question,
    created_at: run.created_at,
    status: run.status,
    stop_reason: run.stop_reason,
  });
}
