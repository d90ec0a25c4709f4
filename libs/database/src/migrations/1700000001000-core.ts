import type { MigrationInterface, QueryRunner } from 'typeorm';

const ID = 'VARCHAR(48) CHARACTER SET ascii COLLATE ascii_bin';
const WORD = 'VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin';
const HASH = 'CHAR(64) CHARACTER SET ascii COLLATE ascii_bin';
const CHARSET = 'ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/**
 * The core schema. MySQL commits every DDL statement by itself, so each step can be run again: a migration that was killed between two
 * of them simply starts over. Only what MySQL 8.4+ and MariaDB 10.11+ both know. Money is in microcredits; times are UTC.
 */
const STEPS = [
  `CREATE TABLE IF NOT EXISTS meta (
    name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    value VARCHAR(255) NOT NULL
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS tenants (
    id ${ID} NOT NULL PRIMARY KEY,
    name VARCHAR(128) NOT NULL,
    created_at DATETIME(3) NOT NULL
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS api_keys (
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    shown_prefix VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    key_sha256 ${HASH} NOT NULL,
    created_at DATETIME(3) NOT NULL,
    revoked_at DATETIME(3) NULL,
    UNIQUE KEY api_keys_hash (key_sha256),
    KEY api_keys_tenant (tenant_id)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS assistants (
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    role ${WORD} NOT NULL,
    name VARCHAR(128) NOT NULL,
    instructions MEDIUMTEXT NOT NULL,
    capabilities TEXT NOT NULL,
    turns_max INT UNSIGNED NOT NULL,
    created_at DATETIME(3) NOT NULL,
    UNIQUE KEY assistants_name (tenant_id, name)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS threads (
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    created_at DATETIME(3) NOT NULL
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS runs (
    run_no BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    thread_id ${ID} NOT NULL,
    root_run_id ${ID} NOT NULL,
    parent_run_id ${ID} NULL,
    parent_tool_call_id ${ID} NULL,
    scratchpad_thread_id ${ID} NOT NULL,
    assistant_id ${ID} NOT NULL,
    role ${WORD} NOT NULL,
    worker_number INT UNSIGNED NULL,
    question MEDIUMTEXT NOT NULL,
    status ${WORD} NOT NULL,
    stop_reason ${WORD} NULL,
    limits_hit VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    report MEDIUMTEXT NULL,
    citations MEDIUMTEXT NULL,
    last_error_code VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    last_error_message TEXT NULL,
    turn INT UNSIGNED NOT NULL DEFAULT 0,
    turns_max INT UNSIGNED NOT NULL,
    workers_max INT UNSIGNED NOT NULL,
    source_cap INT UNSIGNED NOT NULL,
    sources_read INT UNSIGNED NOT NULL DEFAULT 0,
    reads_open INT UNSIGNED NOT NULL DEFAULT 0,
    delegations INT UNSIGNED NOT NULL DEFAULT 0,
    lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    lease_epoch INT UNSIGNED NOT NULL DEFAULT 0,
    lease_expires_at DATETIME(3) NULL,
    wake_number INT UNSIGNED NOT NULL DEFAULT 0,
    event_seq INT UNSIGNED NOT NULL DEFAULT 0,
    active_thread_id ${ID} NULL,
    resumed_from ${ID} NULL,
    deadline_at DATETIME(3) NOT NULL,
    cancel_requested_at DATETIME(3) NULL,
    created_at DATETIME(3) NOT NULL,
    sent_at DATETIME(3) NOT NULL,
    started_at DATETIME(3) NULL,
    waiting_at DATETIME(3) NULL,
    failed_at DATETIME(3) NULL,
    ended_at DATETIME(3) NULL,
    UNIQUE KEY runs_no (run_no),
    UNIQUE KEY runs_parent_call (parent_tool_call_id),
    UNIQUE KEY runs_active_thread (active_thread_id),
    UNIQUE KEY runs_resumed_from (resumed_from),
    KEY runs_tenant (tenant_id, role, run_no),
    KEY runs_root (root_run_id, worker_number),
    KEY runs_sweep (status, lease_expires_at)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS lease_owners (
    owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    expires_at DATETIME(3) NOT NULL
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS messages (
    sequence_no BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE,
    tenant_id ${ID} NOT NULL,
    thread_id ${ID} NOT NULL,
    run_id ${ID} NOT NULL,
    role ${WORD} NOT NULL,
    content MEDIUMTEXT NOT NULL,
    reasoning MEDIUMTEXT NULL,
    reasoning_field ${WORD} NULL,
    attempt_id ${ID} NULL,
    tool_call_id ${ID} NULL,
    is_error TINYINT(1) NOT NULL DEFAULT 0,
    created_at DATETIME(3) NOT NULL,
    PRIMARY KEY (thread_id, sequence_no),
    UNIQUE KEY messages_attempt (attempt_id),
    UNIQUE KEY messages_tool_call (tool_call_id)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS tool_calls (
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    run_id ${ID} NOT NULL,
    root_run_id ${ID} NOT NULL,
    attempt_id ${ID} NOT NULL,
    turn INT UNSIGNED NOT NULL,
    call_index INT UNSIGNED NOT NULL,
    provider_call_id VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    name VARCHAR(256) NOT NULL,
    arguments MEDIUMTEXT NOT NULL,
    effect ${WORD} NOT NULL,
    status ${WORD} NOT NULL,
    delivery INT UNSIGNED NOT NULL DEFAULT 0,
    deaths INT UNSIGNED NOT NULL DEFAULT 0,
    result MEDIUMTEXT NULL,
    error_code VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    child_run_id ${ID} NULL,
    reservation_id ${ID} NULL,
    sent_at DATETIME(3) NULL,
    created_at DATETIME(3) NOT NULL,
    settled_at DATETIME(3) NULL,
    UNIQUE KEY tool_calls_position (attempt_id, call_index),
    KEY tool_calls_turn (run_id, turn, status),
    KEY tool_calls_sweep (status, effect, sent_at),
    KEY tool_calls_root (root_run_id)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS attempts (
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    run_id ${ID} NOT NULL,
    root_run_id ${ID} NOT NULL,
    turn INT UNSIGNED NOT NULL,
    attempt INT UNSIGNED NOT NULL,
    kind ${WORD} NOT NULL,
    outcome ${WORD} NOT NULL,
    provider VARCHAR(64) NOT NULL,
    model VARCHAR(256) NOT NULL,
    renderer_version INT UNSIGNED NOT NULL,
    stream MEDIUMBLOB NULL,
    input_tokens INT UNSIGNED NOT NULL DEFAULT 0,
    output_tokens INT UNSIGNED NOT NULL DEFAULT 0,
    cache_read_tokens INT UNSIGNED NOT NULL DEFAULT 0,
    usage_estimated TINYINT(1) NOT NULL DEFAULT 0,
    error_code VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
    error_message TEXT NULL,
    started_at DATETIME(3) NOT NULL,
    settled_at DATETIME(3) NOT NULL,
    UNIQUE KEY attempts_position (run_id, turn, attempt),
    KEY attempts_root (root_run_id)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS scratchpads (
    thread_id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    body MEDIUMTEXT NOT NULL,
    revision INT UNSIGNED NOT NULL DEFAULT 0,
    body_tool_call_id ${ID} NULL,
    created_at DATETIME(3) NOT NULL,
    updated_at DATETIME(3) NOT NULL
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS scratchpad_entries (
    sequence_no BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE,
    tenant_id ${ID} NOT NULL,
    thread_id ${ID} NOT NULL,
    run_id ${ID} NOT NULL,
    author ${WORD} NOT NULL,
    worker_number INT UNSIGNED NULL,
    tool_call_id ${ID} NOT NULL,
    kind ${WORD} NOT NULL,
    text MEDIUMTEXT NOT NULL,
    created_at DATETIME(3) NOT NULL,
    PRIMARY KEY (thread_id, sequence_no),
    UNIQUE KEY scratchpad_entries_call (tool_call_id)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS sources (
    source_no BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    root_run_id ${ID} NOT NULL,
    run_id ${ID} NOT NULL,
    tool_call_id ${ID} NOT NULL,
    url VARCHAR(4096) NOT NULL,
    url_sha256 ${HASH} NOT NULL,
    final_url VARCHAR(4096) NOT NULL,
    title VARCHAR(512) NOT NULL,
    media_type VARCHAR(128) NOT NULL,
    body_sha256 ${HASH} NOT NULL,
    body MEDIUMBLOB NOT NULL,
    chars INT UNSIGNED NOT NULL,
    extraction VARCHAR(64) NOT NULL,
    claim_review ${WORD} NOT NULL,
    fetched_at DATETIME(3) NOT NULL,
    UNIQUE KEY sources_no (source_no),
    KEY sources_url (root_run_id, url_sha256, source_no),
    UNIQUE KEY sources_call (tool_call_id)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS budgets (
    root_run_id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    limit_microcredits BIGINT UNSIGNED NOT NULL,
    reserved_microcredits BIGINT UNSIGNED NOT NULL DEFAULT 0,
    spent_microcredits BIGINT UNSIGNED NOT NULL DEFAULT 0,
    overrun_microcredits BIGINT UNSIGNED NOT NULL DEFAULT 0,
    CONSTRAINT budgets_never_overdrawn CHECK (reserved_microcredits + spent_microcredits <= limit_microcredits)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS reservations (
    id ${ID} NOT NULL PRIMARY KEY,
    tenant_id ${ID} NOT NULL,
    root_run_id ${ID} NOT NULL,
    run_id ${ID} NOT NULL,
    effect_key VARCHAR(160) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    operation ${WORD} NOT NULL,
    estimate_microcredits BIGINT UNSIGNED NOT NULL,
    charge_microcredits BIGINT UNSIGNED NULL,
    overrun_microcredits BIGINT UNSIGNED NOT NULL DEFAULT 0,
    state ${WORD} NOT NULL,
    created_at DATETIME(3) NOT NULL,
    settled_at DATETIME(3) NULL,
    UNIQUE KEY reservations_effect (effect_key),
    KEY reservations_root (root_run_id, state),
    KEY reservations_run (run_id, state)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS run_events (
    root_run_id ${ID} NOT NULL,
    seq INT UNSIGNED NOT NULL,
    tenant_id ${ID} NOT NULL,
    type ${WORD} NOT NULL,
    body MEDIUMTEXT NOT NULL,
    created_at DATETIME(3) NOT NULL,
    PRIMARY KEY (root_run_id, seq)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS outbox (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    queue ${WORD} NOT NULL,
    job_id VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    payload VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at DATETIME(3) NOT NULL,
    KEY outbox_job (job_id)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS idempotency_keys (
    tenant_id ${ID} NOT NULL,
    key_sha256 ${HASH} NOT NULL,
    body_sha256 ${HASH} NOT NULL,
    run_id ${ID} NOT NULL,
    created_at DATETIME(3) NOT NULL,
    PRIMARY KEY (tenant_id, key_sha256),
    KEY idempotency_keys_age (created_at)
  ) ${CHARSET}`,
];

const TABLES = [
  'idempotency_keys', 'outbox', 'run_events', 'reservations', 'budgets', 'sources', 'scratchpad_entries', 'scratchpads', 'attempts',
  'tool_calls', 'messages', 'lease_owners', 'runs', 'threads', 'assistants', 'api_keys', 'tenants', 'meta',
];

export class Core1700000001000 implements MigrationInterface {
  name = 'Core1700000001000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const step of STEPS) await queryRunner.query(step);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
