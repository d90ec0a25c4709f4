import { createHash } from 'node:crypto';
import { decompressText } from '../compress.ts';
import { CHAIN } from '../repositories/chain.ts';
import { citationsBySource, type SourceCitation } from '../repositories/citations.ts';
import { urlHash } from '../journal/close-turn.ts';
import type { Row, Sql } from '../sql.ts';

/** What an oracle found that SQL alone cannot answer. */
export interface Finding {
  rows: number;
  violations: string[];
}

export interface EvidenceOracle {
  invariant: `Q-${string}`;
  title: string;
  find(sql: Sql): Promise<Finding>;
}

/** Bodies read at once; each is at most some megabytes. */
const BATCH = 50;

export const EVIDENCE_ORACLES: EvidenceOracle[] = [
  { invariant: 'Q-23', title: 'an answered run cites, only what was read in it, and quotes what stands there', find: checkCitations },
  { invariant: 'Q-23', title: 'the text of every source is the one its hash was taken of', find: checkBodies },
];

async function checkCitations(sql: Sql): Promise<Finding> {
  const violations: string[] = [];
  const runs = await sql.rows(`SELECT id, stop_reason, citations FROM runs WHERE id = root_run_id AND ended_at IS NOT NULL`);
  for (const run of runs) violations.push(...(await problemsOfRun(sql, run)));
  return { rows: runs.length, violations };
}

async function problemsOfRun(sql: Sql, run: Row): Promise<string[]> {
  const citations = readCitations(run['citations'] as string | null);
  if (citations === null) return [`${run['id']} citations cannot be read`];
  if (citations.size === 0) return run['stop_reason'] === 'answered' ? [`${run['id']} answered without a citation`] : [];
  const problems: string[] = [];
  for (const [sourceId, citation] of citations) {
    const rows = await sql.rows(`${CHAIN} SELECT s.body FROM sources s JOIN chain ON chain.id = s.root_run_id WHERE s.id = ?`, [run['id'] as string, sourceId]);
    if (!rows[0]) problems.push(`${run['id']} cites ${sourceId}, which was not read in it`);
    else problems.push(...(await misquotes(run, citation, rows[0]['body'] as Buffer)));
  }
  return problems;
}

async function misquotes(run: Row, { sourceId, quotes }: SourceCitation, body: Buffer): Promise<string[]> {
  if (quotes.length === 0) return [];
  const text = await readBody(body);
  return quotes.filter(({ quote, start, end }) => text?.slice(start, end) !== quote).map(({ start }) => `${run['id']} misquotes ${sourceId} at ${start}`);
}

function readCitations(column: string | null): Map<string, SourceCitation> | null {
  try {
    return citationsBySource(column);
  } catch {
    return null;
  }
}

const readBody = (body: Buffer): Promise<string | null> => decompressText(body, 'a source').catch(() => null);

async function checkBodies(sql: Sql): Promise<Finding> {
  const violations: string[] = [];
  let rows = 0;
  for (let last = '0'; ; ) {
    const batch = await sql.rows('SELECT source_no, id, url, url_sha256, body_sha256, body, chars FROM sources WHERE source_no > ? ORDER BY source_no LIMIT ?', [last, BATCH]);
    for (const row of batch) if (!(await isWhole(row))) violations.push(row['id'] as string);
    rows += batch.length;
    if (batch.length < BATCH) return { rows, violations };
    last = String(batch.at(-1)?.['source_no']);
  }
}

async function isWhole(row: Row): Promise<boolean> {
  const text = await readBody(row['body'] as Buffer);
  if (text === null || text.length !== row['chars'] || urlHash(row['url'] as string) !== row['url_sha256']) return false;
  return createHash('sha256').update(text, 'utf8').digest('hex') === row['body_sha256'];
}
