import { createHash } from 'node:crypto';
import { factOf, pageUrl, resultsOf, taskNumber, type ModelScript, type ScriptedCall, type ScriptRequest } from '../script.ts';
import { words } from '../words.ts';
import { bench } from './bench.ts';

const FINDING_WORDS = 150;
const FACT = /The measured value of slot \d+ page \d+ is \d+\./g;

/**
 * The benchmark's story on pages that hold one fact each, for measuring what is sent as workers (n) and pages (k) grow. A worker's only
 * finding is made of the facts of all pages it has read, as its last prompt shows them: one that went missing changes it.
 */
export const context: ModelScript = {
  name: 'context',
  description: 'the bench story with short texts and a finding made of every page read, to measure prompt sizes: context(n16,k06,u1)',
  answer(request) {
    const answer = bench.answer({ ...request, parameters: new Map([['t', '20'], ['m', '200'], ['x', '2'], ...request.parameters]) });
    return answer.calls ? { ...answer, calls: answer.calls.map((call) => ownCall(request, call)) } : answer;
  },
};

function ownCall(request: ScriptRequest, call: ScriptedCall): ScriptedCall {
  if (call.name === 'perform_web_search') return { ...call, arguments: { query: `measured value slot ${taskNumber(request)} run.${request.runId}` } };
  if (call.name === 'append_scratchpad') return { ...call, arguments: { note: finding(request) } };
  return call;
}

/** Always of the same length. */
function finding(request: ScriptRequest): string {
  const task = taskNumber(request);
  const facts = resultsOf(request, 'read_web_page').flatMap((text) => text.match(FACT)?.[0] ?? []);
  const digest = createHash('sha256').update(facts.join('\n')).digest('hex').slice(0, 12);
  return `FINDING ${task}: ${words(FINDING_WORDS, 500 + task)} ${String(facts.length).padStart(2, '0')} facts: ${digest}. "${facts[0] ?? factOf(task, 0)}" [source](${pageUrl(request, task, 1, '.fact')})`;
}
