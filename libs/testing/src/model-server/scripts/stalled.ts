import { countCalls, taskNumber, type ModelScript, type ScriptedAnswer, type ScriptRequest } from '../script.ts';
import { words } from '../words.ts';

const CHUNKS_BEFORE_SILENCE = 3;

/** Two workers search once; then the model of both falls silent for ever. Only a cancel or the deadline ends it. */
export const stalled: ModelScript = {
  name: 'stalled',
  description: 'two workers whose model falls silent in its second answer: for cancels',
  answer: (request) => (request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request)),
};

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  if (request.offeredTools.size === 0 || countCalls(request, 'delegate_research_task') > 0) return { text: 'The workers did not come back.' };
  const calls = [0, 1].map((task) => ({ name: 'delegate_research_task', arguments: { task: `[task ${task}] Find out about ${words(5, task)}. ${request.carried}` } }));
  return { text: 'Two workers can look at this.', calls };
}

function workerAnswer(request: ScriptRequest): ScriptedAnswer {
  const task = taskNumber(request);
  if (request.offeredTools.size > 0 && request.calls.length === 0) {
    return { calls: [{ name: 'perform_web_search', arguments: { query: `slot ${task} ${words(4, task)} run.${request.runId}` } }] };
  }
  return { text: `Task ${task} will never be told: ${words(20, 90 + task)}`, chunkDelayMs: 5, fault: { kind: 'stall', afterChunks: CHUNKS_BEFORE_SILENCE } };
}
