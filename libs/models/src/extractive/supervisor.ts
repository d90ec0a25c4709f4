import { DELEGATION_TASK_CHARS_MAX } from '#contracts';
import { findAnswers, otherWords, splitQuestion, truncateChars } from '#domain';
import { readFindings, type Finding } from './finding.ts';
import { groupBy } from './group-by.ts';
import { renderReport, type ReportPart } from './report.ts';
import type { Exchange, History } from './read-history.ts';
import { answer, callTools, type Step, type StepCall } from './step.ts';
import { readTask, renderRequirements, renderTask } from './task.ts';

const PLAN_QUESTION_CHARS_MAX = 4_000;

export interface SupervisorLimits {
  /** Delegations of the first round, 1 to 8. */
  delegationsMax: number;
  /** Longest report, in tokens. */
  outputTokensMax: number;
}

interface Part extends ReportPart {
  /** Delegations made for it so far. */
  tries: number;
}

/** The next step of a supervisor: plan and delegate, read the notes, at most one further round, report. Six turns at most. */
export function supervisorStep(history: History, limits: SupervisorLimits): Step {
  const parts = partsSoFar(history);
  if (parts.length === 0) return firstRound(history, limits);
  return readNotes(history) ?? secondRound(history, parts) ?? answer(renderReport(parts, limits.outputTokensMax));
}

function firstRound(history: History, limits: SupervisorLimits): Step {
  const questions = splitQuestion(history.question, limits.delegationsMax);
  if (!history.tools.has('delegate_research_task') && history.entries.length > 0) return answer(renderReport(partsOfNotes(history), limits.outputTokensMax));
  if (questions.length === 0 || !history.tools.has('delegate_research_task')) {
    const reason = questions.length === 0 ? 'it holds no words to search for.' : 'no worker has looked into it.';
    const question = questions.length === 0 ? 'The question' : history.question;
    return answer(renderReport([{ question, findings: [], gap: reason }], limits.outputTokensMax));
  }
  const plan = history.tools.has('update_scratchpad') ? [planCall(history.question, questions)] : [];
  return callTools([...plan, ...questions.map((question) => delegation(question, history.question, null))]);
}

function planCall(question: string, parts: readonly string[]): StepCall {
  const listed = parts.map((part, index) => `${index + 1}. ${part}`).join('\n');
  const content = `# Plan\n\nQuestion: ${truncateChars(question.trim(), PLAN_QUESTION_CHARS_MAX)}\n\nSub-questions, one worker each:\n${listed}`;
  return { name: 'update_scratchpad', arguments: { content } };
}

function delegation(part: string, question: string, words: string | null): StepCall {
  const task = truncateChars(renderTask(part, question), DELEGATION_TASK_CHARS_MAX);
  return { name: 'delegate_research_task', arguments: { task, requirements: renderRequirements(words) } };
}

/** Reads the scratchpad whenever a delegation has ended since it was read last. */
function readNotes({ tools, exchanges }: History): Step | null {
  const read = exchanges.findLastIndex(({ name }) => name === 'read_scratchpad');
  const delegated = exchanges.findLastIndex(({ name }) => name === 'delegate_research_task');
  return tools.has('read_scratchpad') && read < delegated ? callTools([{ name: 'read_scratchpad', arguments: {} }]) : null;
}

/** One further round for what has no finding, if it can be asked in other words or failed for a reason that may pass. */
function secondRound(history: History, parts: readonly Part[]): Step | null {
  if (!history.tools.has('delegate_research_task') || parts.some(({ tries }) => tries > 1)) return null;
  const again = parts.flatMap(({ question, findings, hasFailed }) => {
    const words = otherWords(question).join(' ');
    return findings.length > 0 || (words === '' && hasFailed !== true) ? [] : [delegation(question, history.question, words === '' ? null : words)];
  });
  return again.length === 0 ? null : callTools(again);
}

/** The sub-questions that were delegated, each with what is known about it now. */
function partsSoFar({ exchanges, entries }: History): Part[] {
  const delegated = exchanges.filter(({ name }) => name === 'delegate_research_task');
  const byQuestion = groupBy(delegated, (exchange) => readTask(taskText(exchange)).question);
  const noted = entries.flatMap((entry) => readFindings(entry));
  return [...byQuestion].map(([question, answers]) => {
    const last = answers.at(-1);
    const told = answers.filter(({ isError }) => !isError).flatMap(({ content }) => readFindings(content));
    return {
      question,
      findings: [...told, ...noted.filter((finding) => belongs(finding, question))],
      gap: last === undefined ? '' : gapOf(last),
      hasFailed: last !== undefined && (last.isError || last.content.startsWith('Not examined:')),
      tries: answers.length,
    };
  });
}

/** What the notes alone say, when no delegation is in sight: each question they name is a part. */
function partsOfNotes({ question, entries }: History): ReportPart[] {
  const findings = entries.flatMap((entry) => readFindings(entry));
  const parts = [...groupBy(findings, (finding) => finding.question ?? question)];
  if (parts.length === 0) return [{ question, findings: [], gap: 'no worker has found an answer.' }];
  return parts.map(([asked, found]) => ({ question: asked, findings: found, gap: '' }));
}

function taskText({ arguments: { task } }: Exchange): string {
  return typeof task === 'string' ? task : '';
}

/** A note that names its question belongs to that one alone; any other note belongs wherever it answers. */
function belongs(finding: Finding, question: string): boolean {
  if (finding.question !== null) return finding.question === question.replace(/\s+/g, ' ').trim();
  return findAnswers(question, [{ title: finding.title, text: finding.quote }], 1).length > 0;
}

/** Why there is nothing: a failure stays a failure. */
function gapOf({ content, isError }: Exchange): string {
  const told = truncateChars(content.replace(/\s+/g, ' ').trim(), 300);
  if (isError) return `its worker failed (${told}).`;
  if (told.startsWith('Not examined:')) return `it could not be examined (${told.slice('Not examined:'.length).trim()}).`;
  const doubt = /The search was incomplete:.*$/.exec(told)?.[0];
  return `the documents hold no answer.${doubt === undefined ? '' : ` ${doubt}`}`;
}
