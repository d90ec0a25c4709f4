import type { RowDataPacket } from 'mysql2/promise';
import type { RunId } from '#contracts';
import { waitUntil } from '#testing';
import type { Bench } from '../bench.ts';
import { benchQuestion, newToken } from '../rig/ask.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { startRig, type Rig } from '../rig/rig.ts';
import { quantile, rounded } from '../rig/statistics.ts';

/** Four workers whose model calls stream for about 0.4 s each: a cancel meets plans, streams, tools, waits and closings. */
const SCRIPT = 'bench(n4,k4,t40,m60,e20,d10)';
/** Runs take about this long; the moment of the cancel is spread over it. */
const SPREAD_MS = 4_000;

interface Cancelled {
  /** From the commit of the cancel to the end of the last run of the tree, by the database's clock; null when the run had ended before. */
  convergedMs: number | null;
  /** Requests to the model or the web that began later than the cancel, and how much later the last one did. */
  begunAfter: number;
  lastBegunAfterMs: number;
}

export const cancelBench: Bench = {
  name: 'cancel',
  description: 'from a cancel to the end of its whole tree, at random moments of a run',
  defaults: { runs: 60, warm: 1 },
  async run({ runs, warm, log }) {
    const rig = await startRig({ keepsRequests: true });
    try {
      for (let run = 0; run < warm; run++) await cancelAt(rig, SPREAD_MS / 2);
      const load = watchMachine(rig.allPids);
      const cancelled: Cancelled[] = [];
      for (let run = 0; run < runs; run++) {
        cancelled.push(await cancelAt(rig, (SPREAD_MS * run) / runs));
        if (run % 10 === 9) log(`${run + 1} of ${runs} runs cancelled`);
      }
      return { ...figuresOf(cancelled), lines: [...figuresOf(cancelled).lines, describeLoad(load())] };
    } finally {
      await rig.stop();
    }
  },
};

function figuresOf(cancelled: readonly Cancelled[]): { lines: string[]; figures: Record<string, unknown> } {
  const converged = cancelled.flatMap(({ convergedMs }) => convergedMs ?? []);
  const [p50, p95, max] = [quantile(converged, 0.5), quantile(converged, 0.95), Math.max(...converged)];
  const begunAfter = cancelled.reduce((sum, one) => sum + one.begunAfter, 0);
  const lastBegunAfterMs = Math.max(0, ...cancelled.map((one) => one.lastBegunAfterMs));
  return {
    lines: [
      `cancel: ${converged.length} trees ended p50 ${rounded(p50, 0)} ms, p95 ${rounded(p95, 0)} ms, max ${rounded(max, 0)} ms after their cancel; ${cancelled.length - converged.length} had ended before`,
      `requests that began after a cancel: ${begunAfter}, the last ${rounded(lastBegunAfterMs, 0)} ms after it`,
    ],
    figures: { runs: cancelled.length, converged: converged.length, convergedP50Ms: p50, convergedP95Ms: p95, convergedMaxMs: max, begunAfter, lastBegunAfterMs },
  };
}

async function cancelAt(rig: Rig, afterMs: number): Promise<Cancelled> {
  const token = newToken();
  const { id } = await rig.client.createRun({ question: benchQuestion(SCRIPT, token), budget_credits: 100_000 });
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  await rig.client.cancelRun(id);
  const tree = await waitUntil(() => endOf(rig, id), { what: `the end of run ${id}`, timeoutMs: 60_000 });
  if (tree.cancelledAtMs === null) return { convergedMs: null, begunAfter: 0, lastBegunAfterMs: 0 };
  const { cancelledAtMs } = tree;
  const late = (await rig.model.requests(token)).map(({ startMs }) => startMs - cancelledAtMs).filter((ms) => ms > 0);
  return { convergedMs: tree.endedAtMs - cancelledAtMs, begunAfter: late.length, lastBegunAfterMs: Math.max(0, ...late) };
}

/** Null while a run of the tree lives. */
async function endOf({ database }: Rig, id: RunId): Promise<{ cancelledAtMs: number | null; endedAtMs: number } | null> {
  const [rows] = await database.query<RowDataPacket[]>(
    `SELECT SUM(ended_at IS NULL) AS living, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAX(cancel_requested_at)) / 1000 AS cancelled,
      TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAX(ended_at)) / 1000 AS ended FROM runs WHERE root_run_id = ?`,
    [id],
  );
  const row = rows[0]!;
  if (Number(row['living']) > 0) return null;
  return { cancelledAtMs: row['cancelled'] === null ? null : Number(row['cancelled']), endedAtMs: Number(row['ended']) };
}
