import type { Bench } from '../bench.ts';
import { rounded } from '../rig/statistics.ts';
import { startStore } from '../rig/store.ts';
import { measureReserve, type ReserveCost } from './budget/cost.ts';
import { noTotals, raceOnce, type RaceTotals } from './budget/race.ts';

const CLIENTS = 64;
const OPERATIONS_DEFAULT = 100_000;

/** Fails when a single unit is overdrawn, out of reach or unaccounted for. */
export const budgetBench: Bench = {
  name: 'budget',
  description: 'the ledger under 64 clients with kills: nothing overdrawn, nothing out of reach, the bill met; the cost of a reservation',
  defaults: { runs: 1, warm: 0 },
  async run({ operations = OPERATIONS_DEFAULT, log }) {
    const store = await startStore(CLIENTS);
    const outside = await store.connect(2);
    try {
      const cost = await measureReserve(store.sql);
      const totals = noTotals();
      const startedAtMs = performance.now();
      for (let rounds = 1; totals.operations < operations; rounds++) {
        await raceOnce(store.sql, outside.sql, CLIENTS, totals);
        if (rounds % 50 === 0) log(`${totals.operations} operations ...`);
        if (rounds % 100 === 0) await store.sql.batch([{ sql: 'TRUNCATE reservations' }, { sql: 'TRUNCATE budgets' }]);
      }
      const seconds = (performance.now() - startedAtMs) / 1_000;
      const { overshoot, undershoot, billDifference } = totals;
      if (overshoot + undershoot + billDifference > 0) throw new Error(`The ledger is wrong: ${JSON.stringify(totals)}`);
      return present(store.server, totals, cost, seconds);
    } finally {
      await outside.close();
      await store.stop();
    }
  },
};

function present(server: string, totals: RaceTotals, cost: ReserveCost, seconds: number) {
  const { operations, refusals, kills, samples, overshoot, undershoot, billDifference, unknowns, reconciled, overrun } = totals;
  return {
    lines: [
      `${operations} operations of ${CLIENTS} clients on ${server} in ${seconds.toFixed(1)} s (${Math.round(operations / seconds)} a second), ${kills} connections cut`,
      `overshoot ${overshoot} in ${samples} samples, undershoot ${undershoot}, difference to the bill ${billDifference} after ${unknowns} listed unknowns and ${overrun} units of overrun; ${reconciled} reconciled`,
      `a reservation takes ${cost.reserveP50Ms.toFixed(3)} ms, a bare conditional UPDATE ${cost.bareP50Ms.toFixed(3)} ms: ${cost.reserveP50Ratio.toFixed(2)} times; p95 with 16 workers ${cost.p95At16Ms.toFixed(3)} ms, ${cost.p95At16Ratio.toFixed(2)} times p50 of one`,
    ],
    figures: {
      server, operations, clients: CLIENTS, seconds: rounded(seconds, 1), refusals, kills, samples, overshoot, undershoot,
      bill_difference: billDifference, unknowns, reconciled, overrun,
      reserve_p50_ms: rounded(cost.reserveP50Ms, 4), bare_p50_ms: rounded(cost.bareP50Ms, 4), reserve_p50_ratio: rounded(cost.reserveP50Ratio, 3),
      reserve_p95_16_workers_ms: rounded(cost.p95At16Ms, 4), reserve_p95_16_workers_ratio: rounded(cost.p95At16Ratio, 3),
    },
  };
}
