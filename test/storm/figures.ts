import type { LoggedRequest } from '#testing';
import type { AskedRun } from './asker.ts';
import { byPlace, placeOf, tokenIn } from './kill-record.ts';
import type { Stores } from './stores.ts';

export interface Comparison {
  /** Requests for a turn or a call whose result was already committed. */
  repeated: string[];
  /** Places with more requests than the run has attempts: a call that was made and booked nowhere. */
  unrecorded: string[];
  /** Settled work of which the servers' log knows nothing: the comparison would prove nothing. */
  unmatched: string[];
}

/** `NOW(3)` cuts below a millisecond. */
const CLOCK_GRAIN_MS = 1;

/** Holds the log of the model and web server against what the rows say was settled, and when. All clocks are this machine's. */
export async function compareRequests(stores: Stores, requests: readonly LoggedRequest[]): Promise<Comparison> {
  const tokens = await tokensOfRoots(stores);
  const places = byPlace(requests);
  const comparison: Comparison = { repeated: [], unrecorded: await findUnrecorded(stores, tokens, places), unmatched: [] };
  const judge = (what: string, asked: readonly LoggedRequest[] | undefined, settledMs: number): void => {
    if (asked === undefined) comparison.unmatched.push(what);
    else if (asked.some(({ startMs }) => startMs > settledMs + CLOCK_GRAIN_MS)) comparison.repeated.push(what);
  };
  const answers = await stores.rows(
    `SELECT a.root_run_id, a.turn, a.settled_at, COALESCE(r.worker_number, 0) AS worker FROM attempts a JOIN runs r ON r.id = a.run_id WHERE a.kind = 'message' AND a.outcome <> 'interrupted'`,
  );
  for (const row of answers) {
    const place = placeOf(tokens.get(row['root_run_id'] as string) ?? '', Number(row['worker']), Number(row['turn']));
    judge(`model call ${place}`, places.get(place), (row['settled_at'] as Date).getTime());
  }
  const targets = byTarget(requests);
  const calls = await stores.rows(`SELECT root_run_id, arguments, settled_at FROM tool_calls WHERE effect = 'read' AND status = 'succeeded'`);
  for (const row of calls) {
    const { query, url } = JSON.parse(row['arguments'] as string) as { query?: string; url?: string };
    const target = `${tokens.get(row['root_run_id'] as string) ?? ''} ${query ?? url ?? ''}`;
    judge(`call ${target}`, targets.get(target), (row['settled_at'] as Date).getTime());
  }
  return comparison;
}

async function findUnrecorded(stores: Stores, tokens: ReadonlyMap<string, string>, places: ReadonlyMap<string, readonly LoggedRequest[]>): Promise<string[]> {
  const rows = await stores.rows('SELECT a.root_run_id, a.turn, COALESCE(r.worker_number, 0) AS worker, COUNT(*) AS attempts FROM attempts a JOIN runs r ON r.id = a.run_id GROUP BY a.root_run_id, a.turn, worker');
  const recorded = new Map(rows.map((row) => [placeOf(tokens.get(row['root_run_id'] as string) ?? '', Number(row['worker']), Number(row['turn'])), Number(row['attempts'])]));
  return [...places].filter(([place, asked]) => asked.length > (recorded.get(place) ?? 0)).map(([place]) => place);
}

async function tokensOfRoots(stores: Stores): Promise<Map<string, string>> {
  const rows = await stores.rows('SELECT id, question FROM runs WHERE id = root_run_id');
  return new Map(rows.map((row) => [row['id'] as string, tokenIn(row['question'] as string)]));
}

function byTarget(requests: readonly LoggedRequest[]): Map<string, LoggedRequest[]> {
  const targets = new Map<string, LoggedRequest[]>();
  for (const request of requests) {
    if (request.target === null) continue;
    const key = `${request.run} ${request.target}`;
    const known = targets.get(key);
    if (known) known.push(request);
    else targets.set(key, [request]);
  }
  return targets;
}

/** Each is a list of what happened more than once for one cause. */
const DUPLICATES: Record<string, string> = {
  'answers of one turn': `SELECT CONCAT(run_id, ' ', turn) AS sample, COUNT(*) - 1 AS extra FROM attempts WHERE kind = 'message' AND outcome <> 'interrupted' GROUP BY run_id, turn HAVING COUNT(*) > 1`,
  'charges of one effect': `SELECT effect_key AS sample, COUNT(*) - 1 AS extra FROM reservations GROUP BY effect_key HAVING COUNT(*) > 1`,
  'notes of one text': `SELECT CONCAT(run_id, ' ', MIN(sequence_no)) AS sample, COUNT(*) - 1 AS extra FROM scratchpad_entries GROUP BY thread_id, run_id, text HAVING COUNT(*) > 1`,
  'sources of one address': `SELECT CONCAT(root_run_id, ' ', MIN(url)) AS sample, COUNT(*) - 1 AS extra FROM sources GROUP BY root_run_id, url_sha256 HAVING COUNT(*) > 1`,
  'ends of one run': `SELECT root_run_id AS sample, COUNT(*) - 1 AS extra FROM run_events WHERE type = 'run_status' AND body LIKE '%"stop_reason"%' GROUP BY root_run_id HAVING COUNT(*) > 1`,
  'runs of one question': `SELECT MIN(id) AS sample, COUNT(*) - 1 AS extra FROM runs WHERE id = root_run_id GROUP BY question HAVING COUNT(*) > 1`,
};

export async function findDuplicates(stores: Stores): Promise<{ count: number; samples: string[] }> {
  let count = 0;
  const samples: string[] = [];
  for (const [what, sql] of Object.entries(DUPLICATES)) {
    for (const row of await stores.rows(sql)) {
      count += Number(row['extra']);
      samples.push(`${what}: ${row['sample'] as string}`);
    }
  }
  return { count, samples };
}

/** What the engine accepted and did not bring to an end, and what it never answered. */
export async function findLost(stores: Stores, asked: readonly AskedRun[]): Promise<{ lost: string[]; unanswered: string[] }> {
  const ended = new Set((await stores.rows('SELECT id FROM runs WHERE id = root_run_id AND ended_at IS NOT NULL')).map((row) => row['id'] as string));
  return {
    lost: asked.filter(({ id }) => id !== null && !ended.has(id)).map(({ token }) => token),
    unanswered: asked.filter(({ id }) => id === null).map(({ token }) => token),
  };
}

/** The value below which this share of all lies; 0 for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return Math.round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0);
}

export function countBy<Item>(items: readonly Item[], key: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}
