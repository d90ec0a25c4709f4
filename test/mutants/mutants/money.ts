import type { Mutant } from '../mutant.ts';

/** Nothing is paid twice, nothing is spent beyond the limit. */
export const MONEY_MUTANTS: Mutant[] = [
  {
    name: 'reserve-ignores-the-limit',
    promise: 'Q-12',
    file: 'libs/domain/src/budget/ledger.ts',
    from: 'left(ledger) < estimate ? null :',
    to: 'left(ledger) < 0 ? null :',
    owner: { spec: 'libs/domain/src/budget/ledger.spec.ts', title: 'is never overdrawn' },
  },
  {
    name: 'no-check-constraint',
    promise: 'Q-12',
    file: 'libs/database/src/migrations/1700000001000-core.ts',
    from: 'CHECK (reserved_microcredits + spent_microcredits <= limit_microcredits)',
    to: 'CHECK (limit_microcredits >= 0)',
    owner: { spec: 'libs/database/src/migrations/budgets-check.spec.ts', title: '' },
  },
  {
    name: 'overrun-is-dropped',
    promise: 'Q-13',
    file: 'libs/domain/src/budget/ledger.ts',
    from: 'const overrun = charge - booked;',
    to: 'const overrun = 0 * (charge - booked);',
    owner: { spec: 'libs/database/src/journal/settle-turn.spec.ts', title: 'lists what a charge exceeds its reservation by' },
  },
  {
    name: 'leftover-reads-are-refunded',
    promise: 'Q-13',
    file: 'libs/database/src/journal/end-run.ts',
    from: "const paid = row.operation === 'search' || row.operation === 'read' ||",
    to: 'const paid =',
    owner: { spec: 'libs/database/src/journal/park.spec.ts', title: 'books what is left' },
  },
  {
    name: 'charge-is-booked-with-every-repeat',
    promise: 'Q-13',
    file: 'libs/database/src/journal/close-turn.ts',
    from: 'if (!call.alreadySettled && !open.has(call.toolCallId)) continue;',
    to: '',
    owner: { spec: 'libs/database/src/journal/settle-turn.spec.ts', title: 'books, stores and announces a call once' },
  },
  {
    name: 'reads-under-way-do-not-count',
    promise: 'Q-17',
    file: 'libs/database/src/journal/quick-writes.ts',
    from: 'sources_read + reads_open + ? <= source_cap',
    to: 'sources_read + ? <= source_cap',
    owner: { spec: 'libs/database/src/journal/quick-writes.spec.ts', title: 'is refused above the source cap' },
  },
];
