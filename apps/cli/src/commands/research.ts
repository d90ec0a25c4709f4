import { QuaestorError, type CreateRunRequest, type EstimateMode, type RunView } from '#contracts';
import type { CommandContext } from '../context.ts';
import { followRun, rememberRun } from '../follow-run.ts';
import { readQuestion } from '../question.ts';
import { chooseWorkspace, findRunningGateway, startOwnStack, type GatewayOptions, type Session } from '../session.ts';
import { printableLine } from '../terminal.ts';

export interface ResearchOptions extends GatewayOptions {
  json?: boolean;
  workers?: number;
  budget?: number;
  deadline?: number;
  sources?: number;
  allowHost?: string[];
  denyHost?: string[];
  estimateMode?: EstimateMode;
}

/** Asks one question and prints the report. Everything that can be refused is refused before anything starts. */
export async function research(context: CommandContext, words: readonly string[], options: ResearchOptions): Promise<number> {
  const question = await readQuestion(words);
  const session = (await findRunningGateway(context.config, options)) ?? (await startForThisRun(context, options));
  try {
    const run = await createRun(context, session, requestOf(question, options));
    return run ? await followRun(context, session, run, options) : (context.interrupt.exitCode() ?? 0);
  } finally {
    await session.close();
  }
}

async function startForThisRun({ config, log }: CommandContext, { docs }: ResearchOptions): Promise<Session> {
  const workspace = await chooseWorkspace(config, docs);
  log(`Starting a stack for this run${workspace.docsFolder ? ` on ${workspace.docsFolder}` : ''} ...`);
  return startOwnStack(config, { workspace, log });
}

/** Undefined when the user interrupted before the question was sent. */
async function createRun(context: CommandContext, session: Session, request: CreateRunRequest): Promise<RunView | undefined> {
  if (context.interrupt.signal.aborted) return undefined;
  const run = await session.client.createRun(request).catch((error: unknown) => {
    throw error instanceof QuaestorError && error.code === 'UNAUTHORIZED' ? new QuaestorError('UNAUTHORIZED', `${session.url} does not accept the API key: check --key or QUAESTOR_API_KEY.`, { cause: error }) : error;
  });
  rememberRun(context, session, run);
  for (const { message } of run.warnings) context.terminal.note(printableLine(message));
  return run;
}

const requestOf = (question: string, { budget, deadline, sources, workers, allowHost, denyHost, estimateMode }: ResearchOptions): CreateRunRequest => ({
  question,
  ...(budget === undefined ? {} : { budget_credits: budget }),
  ...(deadline === undefined ? {} : { deadline_seconds: deadline }),
  ...(sources === undefined ? {} : { source_cap: sources }),
  ...(workers === undefined ? {} : { workers }),
  ...(allowHost === undefined ? {} : { allowed_hosts: allowHost }),
  ...(denyHost === undefined ? {} : { denied_hosts: denyHost }),
  ...(estimateMode === undefined ? {} : { estimate_mode: estimateMode }),
});
