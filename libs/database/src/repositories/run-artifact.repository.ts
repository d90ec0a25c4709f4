import { QuaestorError, TenantId, type RunId } from '#contracts';
import { parseSessionHeader, parseSessionRow, refuseSession, SessionVerifier, type SessionData } from '#domain';
import { ArtifactAssembler, artifactRowsOf } from '../record/artifact-rows.ts';
import { readTreeRows, TREE_TABLE_NAMES } from '../record/tree-rows.ts';
import type { Sql } from '../sql.ts';
import { RunCopyRepository } from './run-copy.repository.ts';

/** Runs as portable version 2 session artifacts. */
export class RunArtifactRepository {
  readonly #sql: Sql;
  readonly #copies: RunCopyRepository;

  constructor(sql: Sql, randomBytes: () => Uint8Array) {
    this.#sql = sql;
    this.#copies = new RunCopyRepository(sql, randomBytes);
  }

  /**
   * The rows of the artifact of an ended root run, header first. `tenantId` null takes any tenant's, for an operator.
   * @throws QuaestorError `NOT_FOUND`, `INVALID_REQUEST` for a run that goes on, `JOURNAL_INVALID`
   */
  async *export(runId: RunId, tenantId: TenantId | null): AsyncGenerator<SessionData, void, undefined> {
    yield* artifactRowsOf(await readTreeRows(this.#sql, runId, tenantId));
  }

  /**
   * Stores an artifact that `export` made as a run of this tenant, under new ids, and returns its id. Everything is verified before anything
   * is written, in one transaction. A repeat makes another copy.
   * @throws QuaestorError `SESSION_INVALID` naming the row at fault
   */
  async import(rows: AsyncIterable<unknown>, tenantId: TenantId): Promise<RunId> {
    const assembler = new ArtifactAssembler(await this.#columns());
    let verifier: SessionVerifier | undefined;
    let seq = 0;
    for await (const row of rows) {
      if (!verifier) {
        const header = parseSessionHeader(row);
        if (header.version !== 2) refuseSession(1, 'has version 1: run "quaestor session migrate" on the file first');
        verifier = new SessionVerifier(header);
        continue;
      }
      verifier.push(row);
      await assembler.push(parseSessionRow(row, seq, 2, true), seq + 2);
      seq++;
    }
    verifier?.finish();
    if (assembler.rows.runs.length === 0) throw new QuaestorError('SESSION_INVALID', 'The artifact is a session of another engine: it holds no run of Quaestor.');
    return this.#copies.adopt(assembler.rows, tenantId);
  }

  /** The tenant an operator means: the named one, or the only one there is. Throws `INVALID_REQUEST`. */
  async tenantOf(named: string | undefined): Promise<TenantId> {
    const ids = (await this.#sql.rows('SELECT id FROM tenants ORDER BY created_at, id LIMIT 100')).map((row) => row.id as TenantId);
    const found = named === undefined ? (ids.length === 1 ? ids[0] : undefined) : ids.find((id) => id === named);
    if (found) return found;
    throw new QuaestorError('INVALID_REQUEST', named === undefined ? `This database has ${ids.length} tenants: name the one that is to have the run with --tenant.` : `This database has no tenant ${named}.`);
  }

  async #columns(): Promise<Map<string, ReadonlySet<string>>> {
    const rows = await this.#sql.rows('SELECT TABLE_NAME AS place, COLUMN_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (?)', [TREE_TABLE_NAMES]);
    const columns = new Map<string, ReadonlySet<string>>();
    for (const [table, found] of Map.groupBy(rows, (row) => row.place as string)) columns.set(table, new Set(found.map((row) => row.name as string)));
    return columns;
  }
}
