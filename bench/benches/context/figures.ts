import type { RoleRecord } from '#testing';

/** What one run sent, and what came of it, without anything that differs from run to run. */
export interface Row {
  workers: number;
  calls: number;
  supervisor: RoleRecord;
  worker: RoleRecord;
  findings: string[];
  report: string;
}

/** Price of input read from a cache, over that of fresh input. */
const CACHE_PRICE = 0.1;

const billed = ({ bytes, cacheableBytes }: RoleRecord): number => bytes - (1 - CACHE_PRICE) * cacheableBytes;
const round = (value: number): number => Math.round(value * 1_000) / 1_000;
const share = (part: number, whole: number): number => round(part / whole);

const at = (rows: readonly Row[], workers: number, calls: number): Row => {
  const row = rows.find((candidate) => candidate.workers === workers && candidate.calls === calls);
  if (!row) throw new Error(`There is no run of ${workers} workers with ${calls} calls.`);
  return row;
};

/** Figures of both sides as shares of append-only; a bound in the name of a line is the goal, not a condition. */
export function compare(folded: readonly Row[], appended: readonly Row[]) {
  const deep = at(folded, 4, 24);
  const deepAppended = at(appended, 4, 24);
  const figures = {
    sentShare: share(deep.worker.bytes, deepAppended.worker.bytes),
    peakShare: share(deep.worker.peakBytes, deepAppended.worker.peakBytes),
    billedShare: share(billed(deep.worker), billed(deepAppended.worker)),
    growth: share(deep.worker.bytes, at(folded, 4, 6).worker.bytes),
    growthAppendOnly: share(deepAppended.worker.bytes, at(appended, 4, 6).worker.bytes),
    ...supervisorFigures(folded),
    sameFindings: folded.every((row) => sameOutcome(row, at(appended, row.workers, row.calls))),
    rows: { folded: folded.map(sizesOf), appendOnly: appended.map(sizesOf) },
  };
  return { lines: [...table('folded', folded), ...table('append-only', appended), ...verdicts(figures)], figures };
}

function supervisorFigures(rows: readonly Row[]) {
  const [one, sixteen] = [at(rows, 1, 6), at(rows, 16, 6)];
  const bytes = sixteen.findings.reduce((sum, text) => sum + Buffer.byteLength(JSON.stringify(text)) - 2, 0);
  return {
    bytesPerWorker: round((sixteen.supervisor.peakBytes - one.supervisor.peakBytes) / 15),
    bytesPerFinding: round(bytes / sixteen.findings.length),
    growthWithPages: at(rows, 4, 24).supervisor.peakBytes - at(rows, 4, 6).supervisor.peakBytes,
  };
}

/** Every page was read, and its fact was there at the end; both sides say the same. */
const sameOutcome = (left: Row, right: Row): boolean =>
  left.findings.length === left.workers &&
  left.findings.every((text) => text.includes(` ${String(left.calls - 2).padStart(2, '0')} facts: `)) &&
  JSON.stringify([left.findings, left.report]) === JSON.stringify([right.findings, right.report]);

const sizesOf = ({ workers, calls, supervisor, worker }: Row) => ({ workers, calls, supervisor, worker, billedWorkerBytes: Math.round(billed(worker)) });

function table(name: string, rows: readonly Row[]): string[] {
  const kilobytes = (bytes: number, width: number): string => (bytes / 1_000).toFixed(1).padStart(width);
  return [
    `${name.padEnd(15)} | supervisor: all KB   largest KB | workers: all KB   largest KB    billed KB`,
    ...rows.map(({ workers, calls, supervisor, worker }) => `${String(workers).padStart(7)} x ${String(calls).padEnd(5)} |${kilobytes(supervisor.bytes, 20)}${kilobytes(supervisor.peakBytes, 13)} |${kilobytes(worker.bytes, 16)}${kilobytes(worker.peakBytes, 13)}${kilobytes(billed(worker), 13)}`),
  ];
}

function verdicts(figures: Record<'sentShare' | 'peakShare' | 'billedShare' | 'growth' | 'growthAppendOnly' | 'bytesPerWorker' | 'bytesPerFinding' | 'growthWithPages', number> & { sameFindings: boolean }): string[] {
  const { sentShare, peakShare, billedShare, growth, growthAppendOnly, bytesPerWorker, bytesPerFinding, growthWithPages, sameFindings } = figures;
  return [
    `4 workers x 24 calls, as shares of append-only: sent ${sentShare} (goal 0.30), largest prompt ${peakShare} (0.25), billed at a cache price of ${CACHE_PRICE} ${billedShare} (0.80)`,
    `bytes of 24 calls over those of 6: ${growth} (goal 5.5; append-only ${growthAppendOnly})`,
    `the supervisor's largest prompt grows by ${Math.round(bytesPerWorker)} bytes per worker, of which ${Math.round(bytesPerFinding)} are its finding, and by ${growthWithPages} bytes from 6 to 24 calls`,
    sameFindings ? 'findings and reports are the same on both sides' : 'FINDINGS OR REPORTS DIFFER',
  ];
}
