import mysql from 'mysql2/promise';
import { isTerminal, STOP_REASONS, StopReason, type CreateRunRequest, type RunId, type RunView } from '#contracts';
import type { Client } from '#client';
import type { Verdict } from './verdicts.ts';

const RUN_TIMEOUT_MS = 60_000;

/** How a run is brought to one end: by its script, by its limits, or from outside once its workers have found something. */
interface Way {
  end: string;
  limits?: Partial<CreateRunRequest>;
  meddle?: (place: { client: Client; databaseUrl: string }, runId: RunId) => Promise<unknown>;
}

/** A row that nobody can read any more: the run can be ended, and not gone on with. */
async function damage(databaseUrl: string, runId: RunId): Promise<void> {
  const connection = await mysql.createConnection(databaseUrl);
  try {
    await connection.query(`UPDATE tool_calls SET result = '{' WHERE run_id = ? AND status <> 'open'`, [runId]);
    await connection.query(`UPDATE runs SET lease_owner = NULL, lease_expires_at = NOW(3) - INTERVAL 1 MINUTE, lease_epoch = lease_epoch + 1 WHERE id = ?`, [runId]);
  } finally {
    await connection.end();
  }
}

const WAYS: Record<StopReason, Way> = {
  answered: { end: 'answer' },
  insufficient_evidence: { end: 'silent' },
  budget_exhausted: { end: 'spend', limits: { budget_credits: 45 } },
  deadline_reached: { end: 'stall', limits: { deadline_seconds: 8 } },
  turns_exhausted: { end: 'turns' },
  loop_detected: { end: 'loop' },
  cancelled: { end: 'stall', meddle: ({ client }, runId) => client.cancelRun(runId) },
  provider_failed: { end: 'refused' },
  internal_error: { end: 'stall', meddle: ({ databaseUrl }, runId) => damage(databaseUrl, runId) },
};

/** One run for each stop reason, beside each other: it ends with that reason and its state, and its report is of use. */
export async function judgeStopReasons(client: Client, databaseUrl: string, testId: string): Promise<Verdict> {
  const problems = await Promise.all(
    StopReason.options.map(async (reason) => problemOf(reason, await play(client, databaseUrl, WAYS[reason], `${testId}-${reason.replaceAll('_', '')}`))),
  );
  return problems.find((problem) => problem !== null) ?? null;
}

async function play(client: Client, databaseUrl: string, { end, limits = {}, meddle }: Way, runToken: string): Promise<RunView> {
  const accepted = await client.createRun({ question: `Acceptance. stop-reason(end=${end}) run.${runToken}`, budget_credits: 1_000, ...limits });
  let findings = 0;
  for await (const event of client.events(accepted.id, { signal: AbortSignal.timeout(RUN_TIMEOUT_MS) })) {
    const isSettled = event.type === 'research_status' && event.tool === 'delegation' && event.state === 'completed';
    if (isSettled && ++findings === 2 && meddle) await meddle({ client, databaseUrl }, accepted.id);
    if (event.type === 'run_status' && isTerminal(event.status)) break;
  }
  return client.getRun(accepted.id);
}

function problemOf(reason: StopReason, { status, stop_reason: stopped, report, budget }: RunView): Verdict {
  if (stopped !== reason) return `the run that should end ${reason} ended ${stopped}`;
  if (status !== STOP_REASONS[reason].status) return `${reason} is ${status}`;
  if (report === null || report.trim() === '') return `${reason} left no report`;
  if (reason !== 'answered' && !report.includes('Incomplete report')) return `the report of ${reason} does not say that it is one of a stopped run`;
  if (reason !== 'insufficient_evidence' && !report.includes('/page/0/1')) return `the report of ${reason} holds nothing of what was found`;
  if (budget.reserved !== 0) return `${reason} left credits reserved`;
  return null;
}
