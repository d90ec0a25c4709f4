import type { Evidence } from './evidence.ts';
import type { Markers } from './seven-evidence.ts';
import { isLocalExecutorUsed, isToolRequestSurfaced, judgeInferenceStream, judgeIntegration, judgeSharedScratchpad, judgeToolBoundary, judgeWorkerFailure, type Verdict } from './verdicts.ts';

export interface Stories {
  shared: Evidence;
  markers: Markers;
  failure: Evidence;
  /** Text that the failing worker streamed before its model broke. */
  partialText: string;
}

export interface Report {
  lines: string[];
  isGood: boolean;
}

const passOrFail = (name: string, verdict: Verdict): string => `${name}=${verdict === null ? 'PASS' : `FAIL ${verdict}`}`;
const noOrYes = (name: string, isSo: boolean): string => `${name}=${isSo ? 'YES' : 'NO'}`;

/** The printed lines, computed from what happened and from nothing else. */
export function judge({ shared, markers, failure, partialText }: Stories): Report {
  const stream = judgeInferenceStream(shared);
  const boundary = judgeToolBoundary(shared) ?? judgeToolBoundary(failure);
  const scratchpad = judgeSharedScratchpad(shared, markers);
  const integration = judgeIntegration(shared, [stream, boundary, scratchpad]);
  const workerFailure = judgeWorkerFailure(failure, partialText);
  const isSurfaced = [shared, failure].some(isToolRequestSurfaced);
  const isLocal = [shared, failure].some(isLocalExecutorUsed);
  return {
    lines: [
      passOrFail('INFERENCE_STREAM', stream),
      passOrFail('CORE_TOOL_BOUNDARY', boundary),
      passOrFail('SHARED_SCRATCHPAD', scratchpad),
      passOrFail('DEEP_RESEARCH_INTEGRATION', integration),
      passOrFail('WORKER_FAILURE_LIFECYCLE', workerFailure),
      noOrYes('CLIENT_TOOL_REQUEST_SURFACED', isSurfaced),
      noOrYes('LOCAL_TOOL_EXECUTOR_USED', isLocal),
    ],
    isGood: [stream, boundary, scratchpad, integration, workerFailure].every((verdict) => verdict === null) && !isSurfaced && !isLocal,
  };
}
