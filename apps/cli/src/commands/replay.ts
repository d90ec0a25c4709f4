import { QuaestorError, type RunId } from '#contracts';
import type { ReplayDifference, ReplayedRun, ReplayReport } from '#agent';
import type { CommandContext } from '../context.ts';
import { withRunDatabase, type DatabaseOption } from '../run-database.ts';
import type { GatewayOptions } from '../session.ts';
import { printableLine } from '../terminal.ts';

export interface ReplayOptions extends DatabaseOption, GatewayOptions {
  json?: boolean;
  /** The first turn to ask anew, for a fork. */
  from?: number;
  fork?: boolean;
  /** Credits of the fork. */
  budget?: number;
  /** Seconds the fork may take. */
  deadline?: number;
}

const DIFFERS = 1;

/**
 * Executes a run and its workers again from their record, without a model and without a network, and holds every prompt, decision, call and
 * result against it; 1 at the first difference. Changes nothing.
 * @throws QuaestorError `NOT_FOUND`, `JOURNAL_INVALID`, `DATABASE_UNREACHABLE`, `DATABASE_UNSUITABLE`
 */
export async function replay(context: CommandContext, runId: RunId, options: ReplayOptions): Promise<number> {
  if (options.fork === true || options.from !== undefined) return forkFrom(context, runId, options);
  const report = await withRunDatabase(context, options, runId, async (sql) => {
    const [{ RunRecordRepository }, { replayTree }, { PLATFORM_TOOLS }] = await Promise.all([import('#database'), import('#agent'), import('#tools')]);
    const records = new RunRecordRepository(sql);
    return replayTree(await records.read(await records.rootOf(runId), null), PLATFORM_TOOLS);
  });
  await print(context, report, options.json === true);
  return report.difference ? DIFFERS : 0;
}

/** With a fork, the recorded turns are taken over and the rest is asked of the live model, as a new run through the API. */
async function forkFrom(context: CommandContext, runId: RunId, { from, fork, budget, deadline, ...options }: ReplayOptions): Promise<number> {
  if (fork !== true || from === undefined) throw new QuaestorError('INVALID_REQUEST', 'A fork needs both --from TURN and --fork.');
  const { forkRun } = await import('./runs.ts');
  return forkRun(context, runId, { from_turn: from, ...(budget === undefined ? {} : { budget_credits: budget }), ...(deadline === undefined ? {} : { deadline_seconds: deadline }) }, options);
}

async function print({ terminal }: CommandContext, { runs, difference }: ReplayReport, asJson: boolean): Promise<void> {
  if (asJson) return terminal.print(JSON.stringify({ ok: difference === null, runs, difference }, null, 2));
  for (const run of runs) await terminal.print(lineOf(run, difference?.runId === run.runId));
  for (const line of difference ? linesOf(difference) : []) await terminal.print(line);
}

const nameOf = (worker: number | null): string => (worker === null ? 'supervisor' : `worker ${worker}`);

function lineOf({ runId, worker, status, stopReason, attempts, calls, promptsChecked, promptsUnchecked }: ReplayedRun, differs: boolean): string {
  const unknown = promptsUnchecked === 0 ? '' : `, ${promptsUnchecked} prompts of another version`;
  return `${differs ? 'DIFFERS' : 'same'} ${runId} ${nameOf(worker)}: ${stopReason ?? status} (${attempts} attempts, ${calls} calls, ${promptsChecked} prompts to the byte${unknown})`;
}

function linesOf({ worker, turn, attempt, toolCallId, what, recorded, replayed }: ReplayDifference): string[] {
  const place = [nameOf(worker), `turn ${turn}`, ...(attempt === null ? [] : [`attempt ${attempt}`]), ...(toolCallId === null ? [] : [toolCallId])].join(', ');
  return [`${place}: the ${what} differs`, `  recorded: ${printableLine(recorded)}`, `  replayed: ${printableLine(replayed)}`];
}
