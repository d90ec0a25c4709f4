import type { Mutant } from '../mutant.ts';

const SETTLEMENT = 'libs/domain/src/stream/settlement.ts';

/** What may become context, result or report. */
export const ANSWER_MUTANTS: Mutant[] = [
  {
    name: 'ignores-the-finish-marker',
    promise: 'Q-05',
    file: SETTLEMENT,
    from: "if (!assembled.finished) return failed('MODEL_STREAM_CUT');",
    to: '',
    owner: { spec: 'libs/domain/src/stream/settlement.spec.ts', title: '' },
  },
  {
    name: 'runs-truncated-calls',
    promise: 'Q-05',
    file: SETTLEMENT,
    from: "if (assembled.hasToolCalls) return failed('MODEL_OUTPUT_TRUNCATED');",
    to: '',
    owner: { spec: 'libs/domain/src/stream/settlement.spec.ts', title: '' },
  },
  {
    name: 'worker-failure-keeps-its-prose',
    promise: 'Q-05',
    file: 'libs/agent/src/ending.ts',
    from: "reason === 'answered' && text !== null\n",
    to: 'text !== null\n',
    owner: { spec: 'libs/agent/src/answers.spec.ts', title: 'a worker whose answer was cut twice' },
  },
  {
    name: 'answered-without-evidence',
    promise: 'Q-23',
    file: 'libs/agent/src/ending.ts',
    from: "if (wanted !== 'answered' || hasEvidence) return wanted;",
    to: "if (wanted !== 'answered' || hasEvidence || !hasEvidence) return wanted;",
    owner: { spec: 'libs/agent/src/answers.spec.ts', title: 'insufficient_evidence and a flagged report' },
  },
  {
    name: 'limit-beats-open-calls',
    promise: 'Q-01',
    file: 'libs/domain/src/run/decide.ts',
    from: '  const open = state.calls',
    to: "  if (state.deadlineReached) return { kind: 'stop', reason: 'deadline_reached' };\n  const open = state.calls",
    owner: { spec: 'libs/domain/src/run/decide.spec.ts', title: 'before every call has its tool message' },
  },
  {
    name: 'cancel-waits-for-open-calls',
    promise: 'Q-18',
    file: 'libs/domain/src/run/decide.ts',
    from: 'if (state.cancelRequested) return',
    to: 'if (state.cancelRequested && state.calls.length === 0) return',
    owner: { spec: 'libs/domain/src/run/decide.spec.ts', title: 'stops for a cancel whatever else is true' },
  },
];
