import type { FailureView, RemainingWorkView, RunStatus, ToolCallStatus, ToolResult } from '#contracts';
import { oneLine } from '../tools/one-line.ts';
import { truncateChars } from '../text/sanitize.ts';
import { canonicalUrl } from '../web/canonical-url.ts';

/** A call of a run tree, as far as an account of the research needs it. */
export interface AccountedCall {
  name: string;
  arguments: string;
  status: ToolCallStatus;
  result: ToolResult | null;
}

export interface AccountedTask {
  task: string;
  status: RunStatus;
}

/** What a run tree, or a chain of them, has asked for, what failed, and what is still to be done. */
export interface OpenWork {
  queries: string[];
  failures: FailureView[];
  remaining: RemainingWorkView[];
}

type Stage = FailureView['stage'];
const STAGES: Record<string, { stage: Stage; target: string }> = {
  perform_web_search: { stage: 'search', target: 'query' },
  read_web_page: { stage: 'read', target: 'url' },
  delegate_research_task: { stage: 'task', target: 'task' },
};
const TARGET_CHARS_MAX = 500;
const READS_MAX = 50;

/**
 * An account of the research, run by run: the supervisor's calls first, then each worker's, in the order in which they were made. Failures are never dropped; work remains where a task was not finished,
 * a search was not carried out, or a hit was not read. Pure.
 */
export function openWorkOf(calls: readonly AccountedCall[], tasks: readonly AccountedTask[]): OpenWork {
  const queries = new Set<string>();
  const failures: FailureView[] = [];
  const known = new Set<string>();
  const hits = new Map<string, string>();
  const searches: RemainingWorkView[] = [];
  for (const call of calls) {
    const place = STAGES[call.name];
    if (!place) continue;
    const target = targetOf(call, place.target);
    if (place.stage === 'search') queries.add(target);
    if (place.stage === 'read') known.add(identityOf(target));
    if (place.stage === 'search' && isUndone(call)) searches.push({ kind: 'search', query: target });
    if (call.result?.kind === 'error' && call.result.code !== 'CALL_REPEATED') failures.push({ stage: place.stage, target, code: call.result.code });
    if (call.result?.kind === 'hits') for (const { url, title } of call.result.hits) hits.set(identityOf(url), title);
  }
  const open: RemainingWorkView[] = tasks.filter(({ status }) => status !== 'completed').map(({ task }) => ({ kind: 'task', task }));
  const unread: RemainingWorkView[] = [...hits].filter(([url]) => !known.has(url)).slice(0, READS_MAX).map(([url, title]) => ({ kind: 'read', url, title }));
  return { queries: [...queries], failures, remaining: [...open, ...searches, ...unread] };
}

/** One public sentence for a failure. */
export function failureSentence({ stage, target, code }: FailureView): string {
  const what = { search: 'The search for', read: 'Reading', task: 'The task' }[stage];
  return `${what} ${stage === 'read' ? target : `"${target}"`} failed: ${code}.`;
}

/** Refused or interrupted before anything came of it. */
const isUndone = ({ status }: AccountedCall): boolean => status === 'open' || status === 'refused' || status === 'cancelled' || status === 'unknown';

function targetOf(call: AccountedCall, member: string): string {
  try {
    const value = (JSON.parse(call.arguments) as Record<string, unknown> | null)?.[member];
    return truncateChars(oneLine(typeof value === 'string' ? value : ''), TARGET_CHARS_MAX);
  } catch {
    return '';
  }
}

function identityOf(url: string): string {
  try {
    return canonicalUrl(url);
  } catch {
    return url;
  }
}
