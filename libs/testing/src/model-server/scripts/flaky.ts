import { countCalls, pageUrl, taskNumber, type Fault, type ModelScript, type ScriptedAnswer, type ScriptRequest } from '../script.ts';
import { words } from '../words.ts';

/** How turns break when they are asked for the first time; the second time they are answered. */
const FAULTS: readonly Fault[] = [
  { kind: 'status', status: 503 },
  { kind: 'cut', afterChunks: 4 },
  { kind: 'cut-arguments' },
  { kind: 'garbage', afterChunks: 3 },
  { kind: 'error-chunk', afterChunks: 5, message: 'the scripted model was overloaded' },
];
const CHUNK_DELAY_MS = 6;

/**
 * A provider that fails each turn once and then answers; workers make several calls in one answer, and the supervisor writes its
 * plan and delegates in one. Needs a server that keeps its requests, to know that a turn is asked for again.
 */
export const flaky: ModelScript = {
  name: 'flaky',
  description: 'each turn fails once (503, cut, garbage, error), then is answered; several calls in one answer',
  answer(request) {
    const answer = request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request);
    const place = request.calls.length + (request.role === 'worker' ? taskNumber(request) : 0);
    const fault = request.timesAsked === 0 ? FAULTS[place % FAULTS.length] : undefined;
    return { ...answer, chunkDelayMs: CHUNK_DELAY_MS, ...(fault === undefined ? {} : { fault }) };
  },
};

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  if (request.offeredTools.size > 0) {
    if (countCalls(request, 'delegate_research_task') === 0) {
      return { text: 'A plan, and two workers at once.', calls: [{ name: 'update_scratchpad', arguments: { content: `Plan: ${words(12, 3)}` } }, delegation(request, 0), delegation(request, 1)] };
    }
    if (countCalls(request, 'append_scratchpad') === 0) {
      return { text: 'A note before the report.', calls: [{ name: 'append_scratchpad', arguments: { note: `Both workers are back: ${words(8, 4)}` } }, { name: 'update_scratchpad', arguments: { content: `Done: ${words(9, 5)}` } }] };
    }
  }
  return { text: `${words(30, 21)}. ${[0, 1].map((task) => `Task ${task} found: ${words(10, 60 + task)} [source](${pageUrl(request, task, 1)}).`).join(' ')}` };
}

const delegation = (request: ScriptRequest, task: number) => ({
  name: 'delegate_research_task',
  arguments: { task: `[task ${task}] Find out about ${words(5, task)}. ${request.carried}` },
});

function workerAnswer(request: ScriptRequest): ScriptedAnswer {
  const task = taskNumber(request);
  if (request.offeredTools.size > 0) {
    if (countCalls(request, 'perform_web_search') === 0) {
      const looks = [0, 1].map((look) => ({ name: 'perform_web_search', arguments: { query: `slot ${task} look ${look} ${words(4, task)} run.${request.runId}` } }));
      return { text: 'Two searches.', calls: looks };
    }
    if (countCalls(request, 'read_web_page') === 0) {
      const pages = [1, 2, 4].map((step) => ({ name: 'read_web_page', arguments: { url: pageUrl(request, task, step, step === 4 && task === 1 ? '.div' : '') } }));
      return { text: 'Three pages at once.', calls: [...pages, { name: 'append_scratchpad', arguments: { note: `Task ${task} reads: ${words(6, 70 + task)} [source](${pageUrl(request, task, 1)})` } }] };
    }
  }
  return { text: `Task ${task} is done. ${words(20, 80 + task)}` };
}
