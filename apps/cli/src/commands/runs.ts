import { EXIT_CODES, isTerminal, QuaestorError, type ForkRunRequest, type RunId, type RunView } from '#contracts';
import type { CommandContext } from '../context.ts';
import { exitCodeOfRun } from '../exit-codes.ts';
import { followRun, rememberRun } from '../follow-run.ts';
import { listRunRecords, readRunRecord, type RunRecord } from '../records.ts';
import { printResult } from '../run-result.ts';
import { findRunningGateway, startOwnStack, type GatewayOptions, type Session } from '../session.ts';
import { checkDocsFolder } from '../docs-folder.ts';
import type { ServiceName } from '../stack/index.ts';
import { printableLine } from '../terminal.ts';

interface FoundRun {
  session: Session;
  run: RunView;
}

/**
 * Looks a run up: on the running gateway, else on a stack of our own over the database in which this machine left it.
 * @throws QuaestorError `NOT_FOUND`
 */
async function findRun(context: CommandContext, runId: RunId, options: GatewayOptions, services?: readonly ServiceName[]): Promise<FoundRun> {
  const running = await findRunningGateway(context.config, options);
  const found = running && (await running.client.getRun(runId).catch(nothingWhenNotFound));
  if (running && found) return { session: running, run: found };
  const record = readRunRecord(context.config.QUAESTOR_DIRECTORY, runId);
  if (!record) throw new QuaestorError('NOT_FOUND', `No run ${runId} is known here: give the gateway that has it with --url and --key.`);
  const session = await startOn(context, record, services);
  try {
    return { session, run: await session.client.getRun(runId) };
  } catch (error) {
    await session.close();
    throw error;
  }
}

function nothingWhenNotFound(error: unknown): undefined {
  if (error instanceof QuaestorError && error.code === 'NOT_FOUND') return undefined;
  throw error;
}

async function startOn({ config, log }: CommandContext, record: RunRecord, services: readonly ServiceName[] | undefined): Promise<Session> {
  // Looking at a run must still work when its documents have gone; going on with it must not.
  const docsFolder = record.docs_folder !== null && !services ? await checkDocsFolder(record.docs_folder) : null;
  return startOwnStack(config, { workspace: { docsFolder, insteadOfWeb: record.instead_of_web, database: record.database }, log, ...(services ? { services } : {}) });
}

export interface ResumeOptions extends GatewayOptions {
  json?: boolean;
  credits?: number;
  seconds?: number;
  sources?: number;
}

/**
 * Carries an interrupted run on to its end and prints its result. A run that was stopped goes on as its successor when more is given; without
 * that, its result is printed again.
 */
export async function resumeRun(context: CommandContext, runId: RunId, options: ResumeOptions): Promise<number> {
  const { session, run } = await findRun(context, runId, options);
  try {
    return await followRun(context, session, await successorOf(context, session, run, options), options);
  } finally {
    await session.close();
  }
}

async function successorOf(context: CommandContext, { client }: Session, run: RunView, { credits, seconds, sources }: ResumeOptions): Promise<RunView> {
  const more = { ...(credits === undefined ? {} : { credits }), ...(seconds === undefined ? {} : { seconds }), ...(sources === undefined ? {} : { source_cap: sources }) };
  if (Object.keys(more).length === 0 || !isTerminal(run.status)) return run;
  const successor = await client.resumeRun(run.id, more);
  context.terminal.note(`${run.id} goes on as ${successor.id}.`);
  return successor;
}

/** Prints where a run stands, whatever its state. */
export async function showCheckpoint(context: CommandContext, runId: RunId, options: GatewayOptions): Promise<number> {
  const { session, run } = await findRun(context, runId, options, ['gateway']);
  try {
    await context.terminal.print(JSON.stringify(await session.client.checkpoint(run.id), null, 2));
    return 0;
  } finally {
    await session.close();
  }
}

/** Goes on from a turn of a run as a new run, follows that one to its end and prints its result. The first run stays as it is. */
export async function forkRun(context: CommandContext, runId: RunId, fork: ForkRunRequest, options: GatewayOptions & { json?: boolean }): Promise<number> {
  const { session } = await findRun(context, runId, options);
  try {
    const run = await session.client.forkRun(runId, fork);
    rememberRun(context, session, run);
    context.terminal.note(`${run.id} goes on from turn ${fork.from_turn} of ${runId}.`);
    return await followRun(context, session, run, options);
  } finally {
    await session.close();
  }
}

/** Prints a run as it is now. */
export async function showRun(context: CommandContext, runId: RunId, options: GatewayOptions & { json?: boolean }): Promise<number> {
  const { session, run } = await findRun(context, runId, options, ['gateway']);
  try {
    if (!options.json) context.terminal.note(`${run.id} · ${printableLine(run.question)}`);
    await printResult(context.terminal, session.client, run, options);
    return isTerminal(run.status) ? exitCodeOfRun(run) : 0;
  } finally {
    await session.close();
  }
}

/** Ends a run early and waits until it has ended. */
export async function cancelRun(context: CommandContext, runId: RunId, options: GatewayOptions): Promise<number> {
  const { session, run } = await findRun(context, runId, options);
  try {
    if (isTerminal(run.status)) {
      context.terminal.note(`${runId} has ended already: ${run.status}.`);
      return 0;
    }
    await session.client.cancelRun(runId);
    for await (const event of session.client.events(runId, { signal: context.interrupt.signal })) {
      if (event.type === 'run_status' && isTerminal(event.status)) break;
    }
    const ended = await session.client.getRun(runId);
    rememberRun(context, session, ended);
    context.terminal.note(`${runId} ${ended.status}.`);
    return context.interrupt.exitCode() ?? (isTerminal(ended.status) ? 0 : EXIT_CODES.unavailable);
  } finally {
    await session.close();
  }
}

/** Prints what the tenant of the key has spent; needs a running gateway. */
export async function showSpend(context: CommandContext, options: GatewayOptions): Promise<number> {
  const running = await findRunningGateway(context.config, options);
  if (!running) throw new QuaestorError('NOT_FOUND', 'No gateway runs here: start one with quaestor start, or name one with --url and --key.');
  await context.terminal.print(JSON.stringify(await running.client.spend(), null, 2));
  return 0;
}

const QUESTION_COLUMNS = 60;

/** Lists runs, newest first: those of the running gateway, else those that this machine has started. */
export async function listRuns(context: CommandContext, options: GatewayOptions & { limit: number; json?: boolean }): Promise<number> {
  const running = await findRunningGateway(context.config, options);
  const rows = running
    ? (await running.client.listRuns({ limit: options.limit })).data.map(({ id, status, stop_reason, created_at, question }) => ({ run_id: id, status, stop_reason, created_at, question }))
    : listRunRecords(context.config.QUAESTOR_DIRECTORY)
        .slice(0, options.limit)
        .map(({ run_id, status, stop_reason, created_at, question }) => ({ run_id, status: isTerminal(status) ? status : 'interrupted', stop_reason, created_at, question }));
  if (options.json) {
    await context.terminal.print(JSON.stringify(rows, null, 2));
    return 0;
  }
  for (const row of rows) {
    const state = (row.stop_reason ?? row.status).replaceAll('_', ' ');
    await context.terminal.print(`${row.run_id}  ${row.created_at.slice(0, 16).replace('T', ' ')}  ${state.padEnd(21)}  ${printableLine(row.question).slice(0, QUESTION_COLUMNS)}`);
  }
  if (rows.length === 0) context.terminal.note('No runs yet: quaestor research "your question"');
  return 0;
}
