import { countCalls, numberParameter, pageUrl, taskNumber, type ModelScript, type ScriptedAnswer, type ScriptedCall, type ScriptRequest } from '../script.ts';
import { words } from '../words.ts';

interface BenchShape {
  workers: number;
  callsPerWorker: number;
  callTokens: number;
  reportTokens: number;
  findingTokens: number;
  chunkDelayMs: number;
  firstChunkDelayMs: number;
  pageExtension: string;
}

const shapeOf = (request: ScriptRequest): BenchShape => ({
  workers: numberParameter(request, 'n', 4),
  callsPerWorker: numberParameter(request, 'k', 6),
  callTokens: numberParameter(request, 't', 60),
  reportTokens: numberParameter(request, 'm', 800),
  findingTokens: numberParameter(request, 'e', 150),
  chunkDelayMs: numberParameter(request, 'd', 0),
  firstChunkDelayMs: numberParameter(request, 'f', 0),
  pageExtension: ['', '.txt', '.fact'][numberParameter(request, 'x', 0)] ?? '',
});

/**
 * The measured job: a plan, n delegations in one answer, per worker one search, k-2 page reads and one finding, then a look at the
 * findings and a report. With the defaults 32 model calls and 20 web requests.
 */
export const bench: ModelScript = {
  name: 'bench',
  description: 'n workers, k tool calls each, t tokens per calling answer, m per report, e per finding, d ms per chunk, f ms to the first, u1 counts distinct bytes, x1 plain-text pages, x2 pages with a fact each: bench(n4,k6,t60,m800,e150,d0)',
  answer(request) {
    const shape = shapeOf(request);
    const pace = { chunkDelayMs: shape.chunkDelayMs, firstChunkDelayMs: shape.firstChunkDelayMs };
    return { ...(request.role === 'worker' ? workerAnswer(request, shape) : supervisorAnswer(request, shape)), ...pace };
  },
};

function supervisorAnswer(request: ScriptRequest, shape: BenchShape): ScriptedAnswer {
  const areToolsOffered = request.offeredTools.size > 0;
  const delegated = countCalls(request, 'delegate_research_task');
  if (areToolsOffered && countCalls(request, 'update_scratchpad') === 0) {
    return calling(1, shape, [{ name: 'update_scratchpad', arguments: { content: `PLAN ${words(40, 7)}` } }]);
  }
  if (areToolsOffered && delegated < shape.workers) return calling(2, shape, delegations(request, shape));
  if (areToolsOffered && countCalls(request, 'read_scratchpad') === 0) return calling(3, shape, [{ name: 'read_scratchpad', arguments: {} }]);
  return { text: report(request, shape) };
}

const delegations = (request: ScriptRequest, shape: BenchShape): ScriptedCall[] =>
  Array.from({ length: shape.workers }, (_, task) => ({
    name: 'delegate_research_task',
    arguments: { task: `[task ${task}] Investigate ${words(12, task)} and report verified facts with citations. ${request.carried}` },
  }));

/** Every worker's first page is cited once, so that a report is judged as one with evidence. */
function report(request: ScriptRequest, shape: BenchShape): string {
  const links = Array.from({ length: shape.workers }, (_, task) => `${words(6, 40 + task)} [source](${pageUrl(request, task, 1, shape.pageExtension)}).`);
  const used = links.length * 7;
  return `${words(Math.max(1, shape.reportTokens - used), 11)}. ${links.join(' ')}`;
}

function workerAnswer(request: ScriptRequest, shape: BenchShape): ScriptedAnswer {
  const task = taskNumber(request);
  const step = request.calls.length;
  if (request.offeredTools.size === 0 || step >= shape.callsPerWorker) return { text: `Done with task ${task}. ${words(shape.callTokens, 9)}` };
  return calling(20 + step, shape, [workerCall(request, shape, task, step)]);
}

function workerCall(request: ScriptRequest, shape: BenchShape, task: number, step: number): ScriptedCall {
  if (step === 0) return { name: 'perform_web_search', arguments: { query: `slot ${task} ${words(5, task)} run.${request.runId}` } };
  if (step < shape.callsPerWorker - 1) return { name: 'read_web_page', arguments: { url: pageUrl(request, task, step, shape.pageExtension) } };
  return { name: 'append_scratchpad', arguments: { note: `FINDING ${task}: ${words(shape.findingTokens, 500 + task)} [source](${pageUrl(request, task, 1, shape.pageExtension)})` } };
}

const calling = (seed: number, shape: BenchShape, calls: ScriptedCall[]): ScriptedAnswer => ({ text: words(shape.callTokens, seed), calls });
