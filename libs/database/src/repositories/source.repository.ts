import type { RunId, SourceId } from '#contracts';
import type { Source, SourceHead, SourceStore } from '#domain';
import { decompressText } from '../compress.ts';
import { urlHash } from '../journal/close-turn.ts';
import { CHAIN } from './chain.ts';
import type { Row, Sql } from '../sql.ts';

const COLUMNS = 's.id, url, final_url, title, media_type, body_sha256, body, fetched_at';

/** Sources of a root run and of those it continues. A body lives here once, compressed; whoever needs its text reads it from here. */
export class SourceRepository implements SourceStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async findByUrl(rootRunId: RunId, canonicalUrl: string): Promise<Source | null> {
    const rows = await this.#sql.rows(
      `${CHAIN} SELECT ${COLUMNS} FROM chain JOIN sources s ON s.root_run_id = chain.id AND s.url_sha256 = ? ORDER BY s.source_no DESC LIMIT 1`,
      [rootRunId, urlHash(canonicalUrl)],
    );
    return rows[0] ? readSource(rows[0]) : null;
  }

  async get(rootRunId: RunId, sourceId: SourceId): Promise<Source | null> {
    const rows = await this.#sql.rows(`${CHAIN} SELECT ${COLUMNS} FROM sources s JOIN chain ON chain.id = s.root_run_id WHERE s.id = ?`, [rootRunId, sourceId]);
    return rows[0] ? readSource(rows[0]) : null;
  }

  /** Every source of the root run in the order it was stored, without bodies. */
  async heads(rootRunId: RunId): Promise<SourceHead[]> {
    const rows = await this.#sql.rows(
      `${CHAIN} SELECT s.id, url, final_url, title, media_type, body_sha256, fetched_at FROM chain JOIN sources s ON s.root_run_id = chain.id ORDER BY source_no`,
      [rootRunId],
    );
    return rows.map((row) => ({ ...readHead(row), fetchedAt: (row.fetched_at as Date).toISOString() }));
  }
}

const readHead = (row: Row): Omit<Source, 'text'> => ({
  id: row.id as SourceId,
  url: row.url as string,
  finalUrl: row.final_url as string,
  title: row.title as string,
  mediaType: row.media_type as string,
  bodySha256: row.body_sha256 as string,
});

const readSource = async (row: Row): Promise<Source> => ({ ...readHead(row), text: await decompressText(row.body as Buffer, `source ${row.id}`) });
