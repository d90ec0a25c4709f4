import type { RunId } from '#contracts';
import { LedgerRepository, type Sql } from '#database';
import { quantile } from '../../rig/statistics.ts';
import { mint, newReservation } from './race.ts';

const WARM = 200;
const ROUNDS = 20;
const PER_ROUND = 100;
const WORKERS = 16;
const BARE = `UPDATE budgets SET reserved_microcredits = reserved_microcredits + 1 WHERE root_run_id = ? AND reserved_microcredits + spent_microcredits + 1 <= limit_microcredits`;

export interface ReserveCost {
  bareP50Ms: number;
  reserveP50Ms: number;
  reserveP50Ratio: number;
  p95At16Ms: number;
  p95At16Ratio: number;
}

/** What a reservation costs beside one bare conditional UPDATE, in turns on the same server, and with 16 workers on one budget. */
export async function measureReserve(sql: Sql): Promise<ReserveCost> {
  const ledgers = new LedgerRepository(sql);
  const budget = await newBudget(sql);
  const bareBudget = await newBudget(sql);
  const bare = () => timed(() => sql.change(BARE, [bareBudget]));
  const reserve = () => timed(() => ledgers.reserve(budget, budget, newReservation(1)));
  for (let index = 0; index < WARM; index++) await bare().then(reserve);
  const times = { bare: [] as number[], reserve: [] as number[], crowd: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index < PER_ROUND; index++) times.bare.push(await bare());
    for (let index = 0; index < PER_ROUND; index++) times.reserve.push(await reserve());
    times.crowd.push(...(await crowd(reserve)));
  }
  const [bareP50Ms, reserveP50Ms, p95At16Ms] = [quantile(times.bare, 0.5), quantile(times.reserve, 0.5), quantile(times.crowd, 0.95)];
  return { bareP50Ms, reserveP50Ms, reserveP50Ratio: reserveP50Ms / bareP50Ms, p95At16Ms, p95At16Ratio: p95At16Ms / reserveP50Ms };
}

async function crowd(reserve: () => Promise<number>): Promise<number[]> {
  const each = Array.from({ length: WORKERS }, async () => {
    const own: number[] = [];
    for (let index = 0; index < PER_ROUND / 10; index++) own.push(await reserve());
    return own;
  });
  return (await Promise.all(each)).flat();
}

async function newBudget(sql: Sql): Promise<RunId> {
  const rootRunId = mint<RunId>('run');
  await sql.change('INSERT INTO budgets (root_run_id, tenant_id, limit_microcredits) VALUES (?, ?, ?)', [rootRunId, 'ten_bench', 1_000_000_000]);
  return rootRunId;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}
