import type { Mutant } from '../mutant.ts';

const ATTEMPTS = 'libs/agent/src/attempts.spec.ts';
const TOOL_FAILURES = 'libs/agent/src/tool-failures.spec.ts';
const CLAIM = 'libs/database/src/journal/claim.spec.ts';

/** What a death, a failure or a cancel does to calls and attempts. */
export const ATTEMPT_MUTANTS: Mutant[] = [
  {
    name: 'blames-delegations',
    promise: 'Q-16',
    file: 'libs/domain/src/run/deaths.ts',
    from: "(effect === 'read' || effect === 'scratchpad-read')",
    to: "effect !== 'none'",
    owner: { spec: CLAIM, title: 'counts the death of a holder against the calls that were executing in it' },
  },
  {
    name: 'blames-calls-for-a-hand-over',
    promise: 'Q-16',
    file: 'libs/database/src/journal/claim.ts',
    from: "before?.status === 'running' && before.lease_owner !== null",
    to: "before?.status === 'running'",
    owner: { spec: CLAIM, title: 'blames no call for a holder that let go of its run' },
  },
  {
    name: 'suspects-run-among-others',
    promise: 'Q-16',
    file: 'libs/agent/src/tool-execution.ts',
    from: 'call.deaths < SUSPECT_DEATHS',
    to: 'call.deaths < SUSPECT_DEATHS + 9',
    owner: { spec: TOOL_FAILURES, title: 'is carried out by the isolation alone' },
  },
  {
    name: 'suspects-get-the-environment',
    promise: 'Q-27',
    file: 'libs/runtime/src/isolation/call-process.ts',
    from: 'env: Object.fromEntries(PASSED_VARIABLES.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])))',
    to: 'env: own',
    owner: { spec: 'libs/runtime/src/isolation/isolated-tools.spec.ts', title: 'has no address of a store, no key' },
  },
  {
    name: 'store-failures-end-calls',
    promise: 'Q-15',
    file: 'libs/agent/src/tool-execution.ts',
    from: 'if (isStoreFailure(error)) throw error;',
    to: '',
    owner: { spec: TOOL_FAILURES, title: 'is no failure of the call' },
  },
  {
    name: 'finishing-calls-leave-no-trace',
    promise: 'Q-06',
    file: 'libs/database/src/journal/begin-finish.ts',
    from: 'values: [begunFinishEffect(fence.runId, position), reservation.id]',
    to: 'values: [begunFinishEffect(fence.runId, position).slice(0, `finish:${fence.runId}`.length), reservation.id]',
    owner: { spec: ATTEMPTS, title: 'is recorded as lost, stays spent' },
  },
  {
    name: 'finishing-calls-in-flight-are-free',
    promise: 'Q-13',
    file: 'libs/database/src/journal/end-run.ts',
    from: 'attemptPosition(row.effect_key as string) !== null && ending',
    to: "row.operation === 'model' && ending",
    owner: { spec: ATTEMPTS, title: 'stays spent too when its run fails inside the engine' },
  },
  {
    name: 'retries-begin-anew-with-each-claim',
    promise: 'Q-17',
    file: 'libs/agent/src/run-state.ts',
    from: 'this.attemptsFailed = loaded.attemptsFailed;',
    to: 'this.attemptsFailed = 0;',
    owner: { spec: ATTEMPTS, title: 'are counted by its failed attempts' },
  },
  {
    name: 'deaths-use-up-retries',
    promise: 'Q-16',
    file: 'libs/database/src/journal/claim.ts',
    from: "('failed', 'filtered', 'empty')",
    to: "('failed', 'filtered', 'empty', 'lost')",
    owner: { spec: ATTEMPTS, title: 'are not used up by deaths' },
  },
  {
    name: 'retries-after-a-cancel',
    promise: 'Q-18',
    file: 'libs/agent/src/model-turn.ts',
    from: 'return state.cancelRequested ? null : closed.nextReservation;',
    to: 'return closed.nextReservation;',
    owner: { spec: ATTEMPTS, title: 'do not begin after a cancel that came while they waited' },
  },
  {
    name: 'sweeper-sends-without-outbox',
    promise: 'Q-15',
    file: 'libs/database/src/repositories/sweep.repository.ts',
    from: ', outboxInsert(job)]',
    to: ']',
    owner: { spec: 'libs/database/src/repositories/sweep.repository.spec.ts', title: 'leaves the job that it sends in the outbox' },
  },
];
