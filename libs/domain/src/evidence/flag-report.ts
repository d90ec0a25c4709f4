import { assertNever, type LimitHit, type StopReason } from '#contracts';
import { oneLine } from '../tools/one-line.ts';

export interface ReportFlags {
  stopReason: StopReason;
  limitsHit: readonly LimitHit[];
  /** What failed on the way, one sentence each, such as `Reading https://e.org failed: 404.` */
  failures: readonly string[];
  /** What was still to be found out when the run stopped, such as the tasks of open delegations. */
  missing: readonly string[];
}

const ITEMS_MAX = 20;

/**
 * Puts a notice before a report that is not a full answer: why the run stopped, which limits it met, what is missing and what failed.
 * An `answered` run without limits, failures or missing parts keeps its report unchanged. Pure.
 */
export function flagReport(report: string, { stopReason, limitsHit, failures, missing }: ReportFlags): string {
  const reason = stopSentence(stopReason);
  const lines = [
    ...(reason === null ? [] : [`**Incomplete report.** ${reason}`]),
    ...(limitsHit.length === 0 ? [] : [`Limits met: ${limitsHit.map(limitName).join(', ')}.`]),
    ...listed('Missing:', missing),
    ...listed('Failures on the way:', failures),
  ];
  if (lines.length === 0) return report;
  const notice = lines.map((line) => `> ${line}`).join('\n>\n');
  return report.trim() === '' ? notice : `${notice}\n\n${report}`;
}

function listed(title: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  const shown = items.slice(0, ITEMS_MAX).map((item) => `> - ${plain(item)}`);
  const rest = items.length - shown.length;
  return [[title, ...shown, ...(rest > 0 ? [`> - and ${rest} more`] : [])].join('\n')];
}

// Failures quote addresses and tasks: shown as words, never as links, images or markup.
const plain = (item: string): string =>
  oneLine(item)
    .replace(/(?:https?:\/\/|www\.)[^\s`]+/gi, (address) => `\`${address}\``)
    .replaceAll('[', '\\[')
    .replace(/<(?=[a-z/!?])/gi, '&lt;');

function stopSentence(reason: StopReason): string | null {
  switch (reason) {
    case 'answered':
      return null;
    case 'insufficient_evidence':
      return 'No statement below is backed by a page that was read in this run.';
    case 'budget_exhausted':
      return 'The run stopped because its credits were used up.';
    case 'deadline_reached':
      return 'The run stopped because its time was over.';
    case 'turns_exhausted':
      return 'The run stopped because its turns were used up.';
    case 'loop_detected':
      return 'The run stopped because it repeated itself.';
    case 'cancelled':
      return 'The run was cancelled.';
    case 'provider_failed':
      return 'The run stopped because the model provider failed.';
    case 'internal_error':
      return 'The run stopped because of an internal error.';
    default:
      return assertNever(reason);
  }
}

const LIMIT_NAMES: Record<LimitHit, string> = {
  source_cap: 'number of sources',
  delegation_limit: 'number of delegations',
  credits: 'credits',
  deadline: 'time',
  turns: 'turns',
  output_truncated: 'length of an answer',
};

const limitName = (limit: LimitHit): string => LIMIT_NAMES[limit];
