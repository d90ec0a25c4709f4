import type { Mutant } from '../mutant.ts';

/** Whose is what, and where bytes may go. */
export const PLACE_MUTANTS: Mutant[] = [
  {
    name: 'scratchpad-of-any-tenant',
    promise: 'Q-26',
    file: 'libs/database/src/repositories/scratchpad.repository.ts',
    from: "'SELECT body, revision FROM scratchpads WHERE thread_id = ? AND tenant_id = ?'",
    to: "'SELECT body, revision FROM scratchpads WHERE thread_id = ? AND (tenant_id = ? OR 1 = 1)'",
    owner: { spec: 'libs/database/src/repositories/scratchpad.repository.spec.ts', title: 'shows another tenant nothing' },
  },
  {
    name: 'cancel-of-any-tenant',
    promise: 'Q-26',
    file: 'libs/database/src/repositories/cancel.repository.ts',
    from: 'AND tenant_id = ? AND ended_at IS NULL',
    to: 'AND (tenant_id = ? OR 1 = 1) AND ended_at IS NULL',
    owner: { spec: 'libs/database/src/repositories/cancel.repository.spec.ts', title: 'is refused for a foreign' },
  },
  {
    name: 'source-of-any-run',
    promise: 'Q-23',
    file: 'libs/database/src/repositories/source.repository.ts',
    from: 'chain.id = s.root_run_id WHERE s.id = ?',
    to: 'chain.id <> s.id WHERE s.id = ?',
    owner: { spec: 'libs/database/src/repositories/source.repository.spec.ts', title: 'knows no source of another run' },
  },
  {
    name: 'private-addresses-are-open',
    promise: 'Q-29',
    file: 'libs/web/src/fetch/address-guard.ts',
    from: "address.range() === 'unicast' && !DENIED_ADDRESSES.has(address.toString())",
    to: '!DENIED_ADDRESSES.has(address.toString())',
    owner: { spec: 'libs/web/src/fetch/address-guard.spec.ts', title: 'S-03' },
  },
];
