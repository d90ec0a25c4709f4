import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '#contracts';
import type { Evidence } from './evidence.ts';
import { failureEvidence, MARKERS, PARTIAL_TEXT, sharedEvidence } from './example-evidence.ts';
import { judge } from './report.ts';
import { firstMissingStep, SEVEN_STEPS } from './seven-evidence.ts';

/** Judges the good stories after `change`, and returns the lines that are then not good. */
function redLines(change: (stories: { shared: Evidence; failure: Evidence }) => void): string[] {
  const stories = { shared: sharedEvidence(), failure: failureEvidence() };
  change(stories);
  const report = judge({ ...stories, markers: MARKERS, partialText: PARTIAL_TEXT });
  const red = report.lines.filter((line) => !/=(PASS|NO)$/.test(line));
  expect(report.isGood).toBe(red.length === 0);
  return red;
}

const without = (evidence: Evidence, isDropped: (event: EventEnvelope) => boolean): void => {
  evidence.events = evidence.events.filter((event) => !isDropped(event));
};

describe('acceptance lines', () => {
  it('are all good for good evidence', () => {
    expect(redLines(() => undefined)).toEqual([]);
  });

  it.each<[string, string, (stories: { shared: Evidence; failure: Evidence }) => void]>([
    ['INFERENCE_STREAM', 'no content', ({ shared }) => without(shared, (event) => event.type === 'content')],
    ['INFERENCE_STREAM', 'another report', ({ shared }) => (shared.run.report = 'Something else entirely.')],
    ['INFERENCE_STREAM', 'an unsettled attempt', ({ shared }) => shared.rows.attempts.push({ runId: 'a', kind: 'message', outcome: 'completed' })],
    ['INFERENCE_STREAM', 'a hole in the numbers', ({ shared }) => shared.events.splice(0, 1)],
    ['INFERENCE_STREAM', 'no terminal event', ({ shared }) => shared.events.pop()],
    ['CORE_TOOL_BOUNDARY', 'an open call', ({ shared }) => (shared.rows.toolCalls[0]!.status = 'open')],
    ['CORE_TOOL_BOUNDARY', 'a second result', ({ shared }) => shared.rows.messages.push({ ...shared.rows.messages[0]! })],
    ['CORE_TOOL_BOUNDARY', "a result in another's thread", ({ shared }) => (shared.rows.messages[1]!.threadId = 'thread-root')],
    ['CORE_TOOL_BOUNDARY', 'a finding outside the scratchpad', ({ shared }) => (shared.rows.entries[1]!.threadId = 'thread-a')],
    ['CORE_TOOL_BOUNDARY', 'a tool name in an event', ({ shared }) => Object.assign(shared.events[4]!, { activity: 'calls append_scratchpad' })],
    ['CORE_TOOL_BOUNDARY', 'a refused request', ({ failure }) => (failure.protocolProblems = 1)],
    ['SHARED_SCRATCHPAD', 'a note by the wrong run', ({ shared }) => (shared.rows.entries[2]!.runId = 'a')],
    ['DEEP_RESEARCH_INTEGRATION', 'a run that was not completed', ({ shared }) => (shared.run.status = 'incomplete')],
    ['DEEP_RESEARCH_INTEGRATION', 'a failed web request', ({ shared }) => Object.assign(shared.events[0]!, { type: 'web_status', status: 'error', message: 'x', tool: 'read' })],
    ['WORKER_FAILURE_LIFECYCLE', 'a failed worker that is called completed', ({ failure }) => (failure.rows.runs[2]!.status = 'completed')],
    ['WORKER_FAILURE_LIFECYCLE', 'partial text in a result', ({ failure }) => (failure.rows.toolCalls[1]!.result = PARTIAL_TEXT)],
    ['WORKER_FAILURE_LIFECYCLE', 'partial text in the report', ({ failure }) => (failure.run.report = PARTIAL_TEXT)],
    ['WORKER_FAILURE_LIFECYCLE', 'a result that is not an error', ({ failure }) => (failure.rows.messages[1]!.isError = false)],
    ['WORKER_FAILURE_LIFECYCLE', 'no error event', ({ failure }) => without(failure, (event) => event.type === 'research_status' && event.state === 'error')],
    ['WORKER_FAILURE_LIFECYCLE', 'a lost attempt record', ({ failure }) => failure.rows.attempts.pop()],
    ['WORKER_FAILURE_LIFECYCLE', 'a failure that ends the run', ({ failure }) => (failure.run.status = 'failed')],
    ['CLIENT_TOOL_REQUEST_SURFACED', 'an unknown event type', ({ shared }) => Object.assign(shared.events[1]!, { type: 'tool_call_manifest' })],
    ['CLIENT_TOOL_REQUEST_SURFACED', 'arguments in an event', ({ failure }) => Object.assign(failure.events[1]!, { arguments: '{}' })],
    ['LOCAL_TOOL_EXECUTOR_USED', 'a client that sends results', ({ shared }) => shared.requests.push('POST /v1/runs/x/tool_outputs')],
  ])('%s is red with %s', (line, _what, change) => {
    expect(redLines(change).map((red) => red.split('=')[0])).toContain(line);
  });
});

describe('seven evidences', () => {
  it('names the first step whose event is missing', () => {
    const { events } = sharedEvidence();
    const proofs = events.filter((event) => event.type === 'scratchpad_status');
    const missing = proofs.map((proof) => firstMissingStep(events.filter((event) => event !== proof), MARKERS));
    const expected: string[] = [...SEVEN_STEPS];
    // the supervisor's last read shows the marker too, so without its first one it is B's read that comes too early
    expected[3] = SEVEN_STEPS[4];
    expect(missing).toEqual(expected);
  });
  it('does not count an event that is not a success, or comes in another order', () => {
    const { events } = sharedEvidence();
    const softened = events.map((event) => (event.type === 'scratchpad_status' && event.worker === 1 ? { ...event, state: 'completed' as const } : event));
    expect(firstMissingStep(softened, MARKERS)).toBe(SEVEN_STEPS[2]);
    expect(firstMissingStep(events.toReversed(), MARKERS)).not.toBeNull();
  });
  it('does not take one worker for two, nor a worker without an open delegation', () => {
    const { events } = sharedEvidence();
    const oneWorker = events.map((event) => ('worker' in event && event.worker === 2 ? { ...event, worker: 1 } : event));
    expect(firstMissingStep(oneWorker, MARKERS)).toBe(SEVEN_STEPS[5]);
    expect(firstMissingStep(events.filter((event) => event.type !== 'research_status'), MARKERS)).toBe(SEVEN_STEPS[1]);
  });
});
