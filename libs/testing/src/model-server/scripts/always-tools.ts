import { countCalls, pageUrl, type ModelScript } from '../script.ts';

/** A worker that never answers: it asks for tools on every turn, even when none are offered, until its turns are used up. */
export const alwaysTools: ModelScript = {
  name: 'always-tools',
  description: 'the worker never stops calling tools (turns_exhausted); the supervisor then reports that',
  answer(request) {
    if (request.role === 'worker') return { text: 'One more look.', calls: [{ name: 'perform_web_search', arguments: { query: `slot 0 look ${request.calls.length} run.${request.runId}` } }] };
    if (request.offeredTools.size > 0 && countCalls(request, 'delegate_research_task') === 0) {
      return { calls: [{ name: 'delegate_research_task', arguments: { task: `[task 0] Look for ever. ${request.carried}` } }] };
    }
    return { text: `The worker used up its turns; nothing was verified beyond what was searched, see [source](${pageUrl(request, 0, 1)}).` };
  },
};
