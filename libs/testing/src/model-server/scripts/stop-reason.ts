import type { ModelScript, ScriptedAnswer, ScriptRequest } from '../script.ts';
import { countCalls, pageUrl } from '../script.ts';
import { words } from '../words.ts';
import { happy } from './happy.ts';

/** Slower than any test waits. */
const ENDLESS: ScriptedAnswer = { text: 'Let me think.', fault: { kind: 'stall', afterChunks: 1 } };

/** One run for every way in which a run can end: its workers find something first, then its supervisor does what leads there. */
export const stopReason: ModelScript = {
  name: 'stop-reason',
  description: 'two workers find something, then the run ends as asked: stop-reason(end=loop|turns|spend|stall|refused|silent)',
  answer: (request) => (request.role === 'worker' ? happy.answer(request) : supervisorAnswer(request)),
};

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  const end = request.parameters.get('end');
  const isDone = countCalls(request, 'delegate_research_task') > 0;
  // the call that writes a stopped run's report knows of no calls; the last turn of a run does
  const isLastTurn = request.offeredTools.size === 0 && request.calls.length > 0;
  if (request.offeredTools.size === 0 && !(isLastTurn && end === 'turns')) return { text: `As far as it went, see [source](${pageUrl(request, 0, 1)}).` };
  if (!isDone) return happy.answer(request);
  switch (end) {
    case 'loop':
      return { calls: [{ name: 'read_scratchpad', arguments: {} }] };
    case 'turns':
      return { calls: [{ name: 'update_scratchpad', arguments: { content: `Plan ${request.calls.length}` } }] };
    case 'spend':
      return { text: words(4_000, request.calls.length), calls: [{ name: 'update_scratchpad', arguments: { content: `Plan ${request.calls.length}` } }] };
    case 'stall':
      return ENDLESS;
    case 'refused':
      return { fault: { kind: 'status', status: 401, message: 'no such key' } };
    case 'silent':
      return { text: 'I would rather not say where this is from.' };
    default:
      return happy.answer(request);
  }
}
