import { countCalls, pageUrl, taskNumber, type ModelScript, type ScriptedAnswer, type ScriptRequest } from '../script.ts';
import { words } from '../words.ts';

const CHUNKS_BEFORE_FAILURE = 12;

/** Worker 1 finds something; the model of worker 2 breaks in mid-answer on every attempt. The supervisor goes on and says so. */
export const workerFailure: ModelScript = {
  name: 'worker-failure',
  description: 'the second worker fails after partial text; the supervisor reports honestly: worker-failure(partial=HEX)',
  answer: (request) => (request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request)),
};

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  if (request.offeredTools.size > 0) {
    if (countCalls(request, 'delegate_research_task') === 0) return { text: 'Two tasks.', calls: [0, 1].map((task) => delegation(request, task)) };
    if (countCalls(request, 'read_scratchpad') === 0) return { text: 'What is known?', calls: [{ name: 'read_scratchpad', arguments: {} }] };
  }
  return { text: `The first task is answered [source](${pageUrl(request, 0, 1)}). The second task could not be carried out, so nothing is claimed about it.` };
}

const delegation = (request: ScriptRequest, task: number) => ({
  name: 'delegate_research_task',
  arguments: { task: `[task ${task}] Find out about ${words(5, task)}. ${request.carried}` },
});

function workerAnswer(request: ScriptRequest): ScriptedAnswer {
  const task = taskNumber(request);
  if (request.offeredTools.size > 0) {
    if (countCalls(request, 'perform_web_search') === 0) return { calls: [{ name: 'perform_web_search', arguments: { query: `slot ${task} run.${request.runId}` } }] };
    if (countCalls(request, 'read_web_page') === 0) return { calls: [{ name: 'read_web_page', arguments: { url: pageUrl(request, task, 1) } }] };
    if (task === 1) return failure(request);
    if (countCalls(request, 'append_scratchpad') === 0) return { calls: [{ name: 'append_scratchpad', arguments: { note: `Task ${task}: ${words(9, 3)} [source](${pageUrl(request, task, 1)})` } }] };
  }
  return task === 1 ? failure(request) : { text: 'Task 0 is done.' };
}

const failure = (request: ScriptRequest): ScriptedAnswer => ({
  text: `PARTIAL-${request.parameters.get('partial') ?? 'text'} the answer is almost certainly ${words(40, 5)}`,
  fault: { kind: 'error-chunk', afterChunks: CHUNKS_BEFORE_FAILURE, message: 'the scripted model broke down' },
});
