import { compareRequests, countBy, findDuplicates, findLost, percentile } from './figures.ts';
import type { StormOptions, StormResult } from './storm.ts';

/** The one object a storm is judged by; every figure of `ZEROS` must be 0. */
export type StormReport = Record<string, unknown> & Record<(typeof ZEROS)[number], number>;

const ZEROS = [
  'lost', 'unanswered', 'overdue', 'duplicate_effects', 'repeated_settled', 'unrecorded', 'wrong_logs', 'wrong_streams', 'oracle_violations', 'protocol_problems', 'unexpected_exits', 'unclaimed', 'unmatched',
  'unreached_points', 'receipts_missing',
] as const;
const IDLE_SHARE_MAX = 0.5;
const SAMPLES_MAX = 8;

export interface Verdict {
  report: StormReport;
  /** One line for each kind of trouble, with examples; empty for a good storm. */
  problems: string[];
}

/** Reads the last rows and logs of a storm and says what they show. */
export async function judge(options: StormOptions, result: StormResult): Promise<Verdict> {
  const { asker, kills, recovery, faults, world } = result;
  const requests = await world.model.requests();
  kills.judgeStates(requests);
  const compared = await compareRequests(world.stores, requests);
  const duplicates = await findDuplicates(world.stores);
  const { lost, unanswered } = await findLost(world.stores, asker.asked);
  const violated = result.oracles.filter(({ violations }) => violations > 0);
  const protocol = (await world.model.runs()).flatMap(({ id, firstProblem }) => (firstProblem === null ? [] : [`${id}: ${firstProblem}`]));
  const streams = asker.asked.flatMap(({ token, streamProblem }) => (streamProblem === null ? [] : [`${token}: ${streamProblem}`]));
  const found: Record<(typeof ZEROS)[number], readonly string[]> = {
    lost, unanswered, overdue: repeat('a run without an end', result.overdue), duplicate_effects: duplicates.samples, repeated_settled: compared.repeated, unrecorded: compared.unrecorded, wrong_logs: result.wrongLogs,
    wrong_streams: streams, oracle_violations: violated.map(({ invariant, title, violations, sample }) => `${invariant} ${title}: ${violations} (${sample.join(', ')})`), protocol_problems: protocol,
    unexpected_exits: kills.unexpected, unclaimed: repeat('a run that nobody took up', recovery.waiting), unmatched: compared.unmatched, unreached_points: result.unreached,
    receipts_missing: [...kills.missing, ...faults.failed],
  };
  const states = countBy(kills.records, ({ state }) => state);
  const idleShare = (states['idle'] ?? 0) / Math.max(1, kills.records.length);
  const zeros = Object.fromEntries(ZEROS.map((name) => [name, name === 'duplicate_effects' ? duplicates.count : found[name].length])) as Record<(typeof ZEROS)[number], number>;
  const report: StormReport = {
    seed: options.seed, runs: options.runs, kills: kills.records.length, ...zeros,
    kills_by_service: countBy(kills.records, ({ service }) => service), kills_by_state: states, kills_by_point: countBy(kills.records, ({ how }) => how), idle_share: round(idleShare),
    redis_faults: faults.receipts.filter(({ target }) => target === 'redis').length, database_kills: faults.receipts.filter(({ target }) => target === 'db').length,
    migrations_killed: world.migrationsKilled, drained: kills.drained, gave_way: kills.gaveWay,
    recovered_runs: recovery.recoveredMs.length, recovery_p50_ms: percentile(recovery.recoveredMs, 0.5), recovery_p95_ms: percentile(recovery.recoveredMs, 0.95),
    recovery_p99_ms: percentile(recovery.recoveredMs, 0.99), recovery_max_ms: percentile(recovery.recoveredMs, 1), seconds: Math.round(result.seconds),
  };
  const problems = ZEROS.filter((name) => report[name] > 0).map((name) => `${name} ${report[name]}: ${found[name].slice(0, SAMPLES_MAX).join('; ')}`);
  if (idleShare > IDLE_SHARE_MAX) problems.push(`idle_share ${round(idleShare)}: more than half of the kills hit processes that held nothing, so this storm does not count`);
  return { report, problems };
}

const round = (share: number): number => Math.round(share * 1000) / 1000;
const repeat = (what: string, times: number): string[] => Array.from({ length: times }, () => what);
