import { countCalls, pageUrl, taskNumber, type ModelScript, type ScriptedAnswer, type ScriptRequest } from '../script.ts';
import { words } from '../words.ts';

/** The smallest whole story: plan, two workers, one search and one page each, a finding each, a cited report. */
export const happy: ModelScript = {
  name: 'happy',
  description: 'two workers read one page each; ends with a cited report',
  answer: (request) => (request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request)),
};

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  if (request.offeredTools.size > 0) {
    if (countCalls(request, 'update_scratchpad') === 0) return { text: 'First a plan.', calls: [{ name: 'update_scratchpad', arguments: { content: 'Two tasks, then the report.' } }] };
    if (countCalls(request, 'delegate_research_task') === 0) return { text: 'Two workers can look at this.', calls: [0, 1].map((task) => delegation(request, task)) };
    if (countCalls(request, 'read_scratchpad') === 0) return { text: 'Now the findings.', calls: [{ name: 'read_scratchpad', arguments: {} }] };
  }
  return { text: `Both tasks agree. ${[0, 1].map((task) => `Task ${task} found: ${words(12, 60 + task)} [source](${pageUrl(request, task, 1)}).`).join(' ')}` };
}

const delegation = (request: ScriptRequest, task: number) => ({
  name: 'delegate_research_task',
  arguments: { task: `[task ${task}] Find out about ${words(5, task)}. ${request.carried}` },
});

function workerAnswer(request: ScriptRequest): ScriptedAnswer {
  const task = taskNumber(request);
  if (request.offeredTools.size > 0) {
    if (countCalls(request, 'perform_web_search') === 0) return { calls: [{ name: 'perform_web_search', arguments: { query: `slot ${task} ${words(4, task)} run.${request.runId}` } }] };
    if (countCalls(request, 'read_web_page') === 0) return { calls: [{ name: 'read_web_page', arguments: { url: pageUrl(request, task, 1) } }] };
    if (countCalls(request, 'append_scratchpad') === 0) {
      return { calls: [{ name: 'append_scratchpad', arguments: { note: `Task ${task}: ${words(12, 60 + task)} [source](${pageUrl(request, task, 1)})` } }] };
    }
  }
  return { text: `Task ${task} is done; one finding is on the scratchpad.` };
}
