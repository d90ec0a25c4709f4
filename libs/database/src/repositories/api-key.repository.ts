import type { ApiKeyId, AssistantId, AssistantRole, Capability, TenantId } from '#contracts';
import type { Sql, Statement } from '../sql.ts';

export interface ApiKeyOwner {
  apiKeyId: ApiKeyId;
  tenantId: TenantId;
}

/** An assistant as it is shipped; a tenant's copy is kept in step with it under its name. */
export interface ShippedAssistant {
  id: AssistantId;
  role: AssistantRole;
  name: string;
  instructions: string;
  capabilities: Capability[];
  turnsMax: number;
}

export interface TenantSetup {
  id: TenantId;
  name: string;
  assistants: ShippedAssistant[];
  apiKey?: { id: ApiKeyId; sha256: string; shownPrefix: string };
}

/** API keys and their tenants. A key itself is never stored, only its SHA-256; 256 random bits make a slow hash needless. */
export class ApiKeyRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The owner of the key with that hash, or null when it is unknown or revoked. The unique index decides; no secret is compared here. */
  async findOwner(keySha256: string): Promise<ApiKeyOwner | null> {
    const rows = await this.#sql.rows('SELECT id, tenant_id FROM api_keys WHERE key_sha256 = ? AND revoked_at IS NULL', [keySha256]);
    const row = rows[0];
    return row ? { apiKeyId: row['id'] as ApiKeyId, tenantId: row['tenant_id'] as TenantId } : null;
  }

  /** Those of the given keys that may no longer be used. */
  async findRevoked(apiKeyIds: ApiKeyId[]): Promise<ApiKeyId[]> {
    if (apiKeyIds.length === 0) return [];
    const rows = await this.#sql.rows('SELECT id FROM api_keys WHERE id IN (?) AND revoked_at IS NOT NULL', [apiKeyIds]);
    return rows.map((row) => row['id'] as ApiKeyId);
  }

  /**
   * Makes sure that the tenant, its shipped assistants and its first key exist. Assistants follow the shipped version; a key that was revoked
   * stays revoked. Safe to repeat, and from several processes at once.
   */
  async ensureTenant(setup: TenantSetup): Promise<void> {
    await this.#sql.transaction(tenantStatements(setup), async () => undefined);
  }
}

function tenantStatements(setup: TenantSetup): Statement[] {
  const tenant = { sql: 'INSERT IGNORE INTO tenants (id, name, created_at) VALUES (?, ?, NOW(3))', values: [setup.id, setup.name] };
  const assistants = setup.assistants.map((assistant) => ({
    sql: `INSERT INTO assistants (id, tenant_id, role, name, instructions, capabilities, turns_max, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, NOW(3))
      ON DUPLICATE KEY UPDATE instructions = VALUES(instructions), capabilities = VALUES(capabilities), turns_max = VALUES(turns_max)`,
    values: [assistant.id, setup.id, assistant.role, assistant.name, assistant.instructions, JSON.stringify(assistant.capabilities), assistant.turnsMax],
  }));
  const key = setup.apiKey
    ? [
        {
          sql: 'INSERT IGNORE INTO api_keys (id, tenant_id, shown_prefix, key_sha256, created_at) VALUES (?, ?, ?, ?, NOW(3))',
          values: [setup.apiKey.id, setup.id, setup.apiKey.shownPrefix, setup.apiKey.sha256],
        },
      ]
    : [];
  return [tenant, ...assistants, ...key];
}
