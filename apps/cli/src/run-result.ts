import type { FindingView, RunId, RunView, SourceView } from '#contracts';
import type { Client } from '#client';
import { formatCredits } from './progress/live-lines.ts';
import { printable, printableLine, type Terminal } from './terminal.ts';

/** What `--json` prints. */
export interface RunResult {
  run_id: RunId;
  status: RunView['status'];
  stop_reason: RunView['stop_reason'];
  limits_hit: RunView['limits_hit'];
  question: string;
  report: string | null;
  sources: SourceView[];
  findings: FindingView[];
  budget: RunView['budget'];
  cost: RunView['cost'];
  usage: RunView['usage'];
  last_error: RunView['last_error'];
  elapsed_ms: number | null;
}

export async function fetchResult(client: Client, run: RunView): Promise<RunResult> {
  const [sources, scratchpad] = await Promise.all([client.sources(run.id), client.scratchpad(run.id)]);
  return {
    run_id: run.id,
    status: run.status,
    stop_reason: run.stop_reason,
    limits_hit: run.limits_hit,
    question: run.question,
    report: run.report,
    sources: sources.data,
    findings: scratchpad.entries,
    budget: run.budget,
    cost: run.cost,
    usage: run.usage,
    last_error: run.last_error,
    elapsed_ms: run.elapsed_ms,
  };
}

/** The report on stdout (or one JSON object), how it ended on stderr. */
export async function printResult(terminal: Terminal, client: Client, run: RunView, options: { json?: boolean }): Promise<void> {
  if (options.json) return terminal.print(JSON.stringify(await fetchResult(client, run), null, 2));
  if (run.report !== null) await terminal.print(printable(run.report));
  terminal.note(summaryLine(terminal, run));
}

function summaryLine({ colors }: Terminal, run: RunView): string {
  const mark = run.status === 'completed' ? colors.green('✔') : run.status === 'incomplete' ? colors.yellow('!') : colors.red('✖');
  const reason = (run.stop_reason ?? run.status).replaceAll('_', ' ');
  const seconds = run.elapsed_ms === null ? undefined : `${(run.elapsed_ms / 1000).toFixed(1)} s`;
  const limits = run.limits_hit.length > 0 ? `limits met: ${run.limits_hit.join(', ').replaceAll('_', ' ')}` : undefined;
  const cost = run.cost === null ? undefined : `${formatCredits(run.cost.amount)} ${run.cost.currency}`;
  const facts = [`${run.status}: ${reason}`, limits, `${formatCredits(run.budget.spent)} of ${formatCredits(run.budget.limit)} credits`, cost, seconds, run.id].filter(Boolean).join(' · ');
  const error = run.last_error ? `\n  ${printableLine(run.last_error.message)}` : '';
  return `${mark} ${facts}${error}`;
}
