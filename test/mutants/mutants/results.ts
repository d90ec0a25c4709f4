import type { Mutant } from '../mutant.ts';

/** One result for each call, one effect for each result. */
export const RESULT_MUTANTS: Mutant[] = [
  {
    name: 'later-result-wins',
    promise: 'Q-02',
    file: 'libs/database/src/journal/close-turn.ts',
    from: "settled_at = NOW(3) WHERE id = ? AND status = 'open'`",
    to: 'settled_at = NOW(3) WHERE id = ?`',
    owner: { spec: 'libs/database/src/journal/park.spec.ts', title: 'keeps the first result of a delegation' },
  },
  {
    name: 'packet-settles-twice',
    promise: 'Q-02',
    file: 'libs/database/src/journal/close-turn.ts',
    from: "status = IF(status = 'open', ?, NULL)",
    to: "status = IF(status <> '', ?, NULL)",
    owner: { spec: 'libs/database/src/journal/quick-writes.spec.ts', title: 'keeps the first result of a call that costs nothing' },
  },
  {
    name: 'end-leaves-calls-open',
    promise: 'Q-01',
    file: 'libs/database/src/journal/end-run.ts',
    from: "settled_at = NOW(3) WHERE run_id = ? AND status = 'open'`",
    to: "settled_at = NOW(3) WHERE run_id = ? AND status = 'never'`",
    owner: { spec: 'libs/database/src/journal/park.spec.ts', title: 'closes open calls in order' },
  },
  {
    name: 'note-is-written-with-every-repeat',
    promise: 'Q-22',
    file: 'libs/database/src/repositories/scratchpad.repository.ts',
    from: "if (rowsOf(opened, 1)[0]?.status !== 'open') return null;",
    to: '',
    owner: { spec: 'libs/database/src/repositories/scratchpad.repository.spec.ts', title: 'once per call' },
  },
  {
    name: 'note-after-the-cancel',
    promise: 'Q-18',
    file: 'libs/database/src/repositories/scratchpad.repository.ts',
    from: 'if (cancelled) return',
    to: 'if (cancelled && false) return',
    owner: { spec: 'libs/database/src/repositories/scratchpad.repository.spec.ts', title: 'writes nothing after a cancel' },
  },
  {
    name: 'result-without-its-call',
    promise: 'Q-11',
    file: 'libs/domain/src/conversation/correlate-tools.ts',
    from: "if (!open.delete(message.toolCallId)) throw",
    to: "if (!open.delete(message.toolCallId) && message.content === null) throw",
    owner: { spec: 'libs/domain/src/conversation/conversation.spec.ts', title: 'refuses every history' },
  },
  {
    name: 'broken-result-is-guessed',
    promise: 'Q-36',
    file: 'libs/database/src/journal/claim.ts',
    from: 'return ToolResult.parse(JSON.parse(stored));',
    to: 'return JSON.parse(stored) as ToolResult;',
    owner: { spec: 'libs/database/src/journal/claim.spec.ts', title: 'ends a run with a row that cannot be read' },
  },
];
