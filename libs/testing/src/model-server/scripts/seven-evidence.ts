import { countCalls, pageUrl, resultsOf, taskNumber, type ModelScript, type ScriptedAnswer, type ScriptRequest } from '../script.ts';

/**
 * Seven proofs that one scratchpad is shared. The question carries the seed and worker A's marker. The seed travels to the workers, and
 * A's marker to worker B, by the scratchpad only: a task never names them. What a model did not read it does not write.
 */
export const sevenEvidence: ModelScript = {
  name: 'seven-evidence',
  description: 'supervisor, worker A and worker B hand markers on through the scratchpad: seven-evidence(seed=HEX,marker=HEX)',
  answer: (request) => (request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request)),
};

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  if (request.offeredTools.size > 0) {
    const delegated = countCalls(request, 'delegate_research_task');
    const reads = countCalls(request, 'read_scratchpad');
    const { seed, marker } = given(request);
    if (countCalls(request, 'append_scratchpad') === 0) return { text: 'The seed goes first.', calls: [{ name: 'append_scratchpad', arguments: { note: `SEED-${seed}` } }] };
    if (delegated === 0) return { text: 'Worker A starts.', calls: [delegation(request, 0, `marker=${marker}`)] };
    if (reads === 0) return { text: 'What did worker A leave?', calls: [{ name: 'read_scratchpad', arguments: {} }] };
    if (delegated === 1) return { text: 'Worker B starts.', calls: [delegation(request, 1, '')] };
    if (reads === 1) return { text: 'What did worker B leave?', calls: [{ name: 'read_scratchpad', arguments: {} }] };
  }
  const pad = resultsOf(request, 'read_scratchpad').at(-1) ?? '';
  const marker = found(pad, /MARKER-([0-9a-f]{16})/);
  const acknowledged = found(pad, /ACK-([0-9a-f]{16})/);
  return { text: `The scratchpad holds marker ${marker} [source](${pageUrl(request, 0, 1)}) and its acknowledgement ${acknowledged} [source](${pageUrl(request, 1, 1)}).` };
}

const given = (request: ScriptRequest) => ({ seed: request.parameters.get('seed') ?? 'missing', marker: request.parameters.get('marker') ?? 'missing' });

const delegation = (request: ScriptRequest, task: number, parameters: string) => ({
  name: 'delegate_research_task',
  arguments: { task: `[task ${task}] Read the scratchpad, then one page, and leave your note. seven-evidence(${parameters}) run.${request.runId}` },
});

function workerAnswer(request: ScriptRequest): ScriptedAnswer {
  const task = taskNumber(request);
  if (request.offeredTools.size > 0) {
    if (countCalls(request, 'read_scratchpad') === 0) return { text: 'First the scratchpad.', calls: [{ name: 'read_scratchpad', arguments: {} }] };
    if (countCalls(request, 'perform_web_search') === 0) return { text: 'Then a search.', calls: [{ name: 'perform_web_search', arguments: { query: `slot ${task} shared notes run.${request.runId}` } }] };
    if (countCalls(request, 'read_web_page') === 0) return { text: 'Then a page.', calls: [{ name: 'read_web_page', arguments: { url: pageUrl(request, task, 1) } }] };
    if (countCalls(request, 'append_scratchpad') === 0) return { text: 'Now my note.', calls: [{ name: 'append_scratchpad', arguments: { note: `${note(request)} [source](${pageUrl(request, task, 1)})` } }] };
  }
  return { text: `Task ${task} is done.` };
}

function note(request: ScriptRequest): string {
  const pad = resultsOf(request, 'read_scratchpad').at(-1) ?? '';
  const seed = found(pad, /SEED-([0-9a-f]{16})/);
  const marker = request.parameters.get('marker');
  return marker === undefined ? `ACK-${found(pad, /MARKER-([0-9a-f]{16})/)} for seed ${seed}` : `MARKER-${marker} for seed ${seed}`;
}

const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? 'not found';
