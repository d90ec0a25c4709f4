import { STOP_REASONS, type LimitHit, type QuaestorError, type StopReason, type ToolResult } from '#contracts';
import { checkReport, failureSentence, findingsReport, flagReport, type LoadedRun, type ReportSource, type RunEnding, type RunRecord } from '#domain';
import type { AgentDependencies } from './dependencies.ts';

/** Facts of a run that its ending tells about. */
export interface EndingFacts {
  run: RunRecord;
  limitsHit: LimitHit[];
  /** One public sentence for each call of the run that failed. */
  failures: string[];
  /** Findings this run has promoted. */
  findings: number;
}

const errorOf = (error: QuaestorError | null): RunEnding['error'] => error && { code: error.code, message: error.message };

/**
 * How a root run ends. `answered` needs evidence: a report that cites no page read in this run is `insufficient_evidence`, whatever the
 * model says. Every other end keeps a usable, flagged report.
 */
export async function rootEnding(deps: AgentDependencies, facts: EndingFacts, wanted: StopReason, text: string | null, error: QuaestorError | null): Promise<RunEnding> {
  const { run } = facts;
  const limitsHit = [...new Set([...facts.limitsHit, ...(await deps.limitsMet(run.rootRunId))])];
  const draft = text ?? (await reportOfFindings(deps, run));
  const checked = checkReport(draft, await citedSources(deps, run, draft), (url) => deps.ports.pages.canonicalUrl(url));
  const reason = honestReason(wanted, checked.citations.length > 0, limitsHit);
  const report = await flagged(deps, facts, checked.report, reason, limitsHit);
  const { status } = STOP_REASONS[reason];
  return {
    status,
    stopReason: reason,
    error: errorOf(error),
    limitsHit,
    report,
    citations: JSON.stringify(checked.citations),
    delegationResult: null,
    events: [
      ...(error ? [{ type: 'error' as const, code: error.code, message: error.message }] : []),
      { type: 'run_status', status, stop_reason: reason, ...(limitsHit.length > 0 ? { limits_hit: limitsHit } : {}) },
    ],
  };
}

/** An answer tells which tasks failed; every other report also tells each failed search and page, and what was still to be done. */
async function flagged(deps: AgentDependencies, { run, failures }: EndingFacts, report: string, stopReason: StopReason, limitsHit: LimitHit[]): Promise<string> {
  if (stopReason === 'answered') return failures.length === 0 && limitsHit.length === 0 ? report : flagReport(report, { stopReason, limitsHit, failures, missing: [] });
  const work = await deps.openWork(run.rootRunId);
  const missing = work.remaining.flatMap((item) => (item.kind === 'task' ? [item.task] : item.kind === 'search' ? [`The search for "${item.query}"`] : []));
  return flagReport(report, { stopReason, limitsHit, failures: [...failures, ...work.failures.filter(({ stage }) => stage !== 'task').map(failureSentence)], missing });
}

/** Without evidence nothing is answered; where credits were refused on the way, they are the reason that there is none. */
function honestReason(wanted: StopReason, hasEvidence: boolean, limitsHit: readonly LimitHit[]): StopReason {
  if (wanted !== 'answered' || hasEvidence) return wanted;
  return limitsHit.includes('credits') ? 'budget_exhausted' : 'insufficient_evidence';
}

/** Findings speak for themselves when no model can write any more. */
const reportOfFindings = async (deps: AgentDependencies, run: RunRecord): Promise<string> => findingsReport(await deps.findings(run.tenantId, run.scratchpadThreadId));

/** Bodies are loaded only of sources whose address the draft names. */
async function citedSources(deps: AgentDependencies, run: LoadedRun['run'], draft: string): Promise<ReportSource[]> {
  const heads = await deps.ports.sources.heads(run.rootRunId);
  const sources: ReportSource[] = [];
  for (const head of heads) {
    const named = draft.includes(head.url) || draft.includes(head.finalUrl) || draft.includes(safelyDecoded(head.url));
    const source = named ? await deps.ports.sources.get(run.rootRunId, head.id) : null;
    sources.push({ ...head, urlVariants: [head.finalUrl], text: source?.text ?? '' });
  }
  return sources;
}

function safelyDecoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}

const WORKER_STOP: Partial<Record<StopReason, { code: string; message: string }>> = {
  turns_exhausted: { code: 'TURNS_EXHAUSTED', message: 'The worker used up its turns without an answer.' },
  budget_exhausted: { code: 'BUDGET_EXHAUSTED', message: 'The budget of the run was used up before the worker could answer.' },
  deadline_reached: { code: 'DEADLINE_REACHED', message: 'The deadline of the run was reached before the worker could answer.' },
  loop_detected: { code: 'LOOP_DETECTED', message: 'The worker made the same call again and again and was stopped before it could answer.' },
  cancelled: { code: 'RUN_CANCELLED', message: 'The run was cancelled before the worker could answer.' },
};

/** How a worker run ends: an answer, or an error result without any of its partial prose. */
export function workerEnding(facts: EndingFacts, reason: StopReason, text: string | null, error: QuaestorError | null): RunEnding {
  const { status } = STOP_REASONS[reason];
  const { run, findings } = facts;
  const stop = WORKER_STOP[reason] ?? { code: 'DELEGATION_FAILED', message: `The worker failed: ${error?.message ?? reason}` };
  const result: ToolResult =
    reason === 'answered' && text !== null
      ? { kind: 'delegation', workerRunId: run.id, text, findings }
      : { kind: 'error', ...stop, findings };
  return {
    status,
    stopReason: reason,
    error: reason === 'answered' ? null : (errorOf(error) ?? stop),
    limitsHit: facts.limitsHit,
    report: null,
    citations: null,
    delegationResult: result,
    events: [
      {
        type: 'research_status',
        activity: result.kind === 'error' ? result.message : 'A worker finished its task.',
        tool: 'delegation',
        state: result.kind === 'error' ? 'error' : 'completed',
        ...(run.workerNumber === null ? {} : { worker: run.workerNumber }),
      },
    ],
  };
}
