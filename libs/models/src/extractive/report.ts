import { differingNumbers, estimateTokens, rankPassages } from '#domain';
import { citation, citedQuote, type Finding } from './finding.ts';

/** One sub-question with all that is known about it. */
export interface ReportPart {
  question: string;
  findings: Finding[];
  /** What to say when there is no finding, a clause that ends in a full stop. */
  gap: string;
  /** Set when the gap comes from a failure, not from the documents. */
  hasFailed?: boolean;
}

/** One quote with every page that holds it word for word. */
interface Statement {
  quote: string;
  sources: Finding[];
}

export const EXTRACTIVE_NOTICE = 'Extractive mode: quoted sentences, no language model.';

const STATEMENTS_MAX = 5;

/** The report in Markdown. Leaves out the weakest quotes until it fits the tokens; one quote for each part always stays. */
export function renderReport(parts: readonly ReportPart[], tokensMax: number): string {
  let report = '';
  for (let quotes = STATEMENTS_MAX; quotes >= 1; quotes -= 1) {
    report = render(parts, quotes);
    if (estimateTokens(report) <= tokensMax) break;
  }
  return report;
}

function render(parts: readonly ReportPart[], quotesMax: number): string {
  const answered = parts.filter(({ findings }) => findings.length > 0);
  const open = parts.filter(({ findings }) => findings.length === 0);
  const blocks = [EXTRACTIVE_NOTICE, ...answered.map((part) => renderPart(part, quotesMax))];
  if (answered.length === 0 && open.every(({ gap }) => gap === NO_ANSWER)) blocks.push('The documents hold no answer to this question.');
  if (open.length > 0) blocks.push(['## Not found', '', ...open.map(({ question, gap }) => `- ${plain(question)}: ${plain(gap)}`)].join('\n'));
  return blocks.join('\n\n');
}

const NO_ANSWER = 'the documents hold no answer.';

function renderPart({ question, findings }: ReportPart, quotesMax: number): string {
  const statements = mergeRepeats(inOrder(question, findings)).slice(0, quotesMax);
  const lines = statements.map((statement) => `- ${renderStatement(statement)}`);
  const disagreements = disagreeing(question, statements);
  return [`## ${plain(question)}`, lines.join('\n'), ...disagreements].join('\n\n');
}

function renderStatement({ sources }: Statement): string {
  const [first, ...others] = sources;
  return first === undefined ? '' : [citedQuote(first), ...others.map((source) => citation(source))].join(' ');
}

/** By how well the quote fits the question; independent of the order in which parallel workers wrote. The told best comes first. */
function inOrder(question: string, findings: readonly Finding[]): Finding[] {
  const told = findings.find((finding) => finding.question === null);
  const scores = new Map(rankPassages(question, findings.map(({ quote }) => quote)).map(({ index, score }) => [index, score]));
  return findings
    .map((finding, index) => ({ finding, isTold: finding.quote === told?.quote, score: scores.get(index) ?? 0 }))
    .sort((left, right) => Number(right.isTold) - Number(left.isTold) || right.score - left.score || compare(left.finding, right.finding))
    .map(({ finding }) => finding);
}

function compare(left: Finding, right: Finding): number {
  const [leftKey, rightKey] = [`${left.url}\n${left.quote}`, `${right.url}\n${right.quote}`];
  return leftKey < rightKey ? -1 : Number(leftKey > rightKey);
}

function mergeRepeats(findings: readonly Finding[]): Statement[] {
  const statements = new Map<string, Statement>();
  for (const finding of findings) {
    const statement = statements.get(finding.quote) ?? { quote: finding.quote, sources: [] };
    if (!statement.sources.some(({ url }) => url === finding.url)) statement.sources.push(finding);
    statements.set(finding.quote, statement);
  }
  return [...statements.values()];
}

/** A line for each pair of sources that say the same with other numbers. */
function disagreeing(question: string, statements: readonly Statement[]): string[] {
  return statements.flatMap((left, index) =>
    statements.slice(index + 1).flatMap((right) => {
      const [one, other] = [left.sources[0], right.sources[0]];
      if (one === undefined || other === undefined || one.url === other.url) return [];
      const numbers = differingNumbers(question, left.quote, right.quote);
      return numbers === null ? [] : [`Sources disagree: "${numbers.left}" ${citation(one)} against "${numbers.right}" ${citation(other)}.`];
    }),
  );
}

/** User text and failures on one line, without marks that would read as a quote, a link or a heading. */
function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/["“”]/g, "'").replaceAll('[', '(').replaceAll(']', ')').trim();
}
