import type { MigrationInterface, QueryRunner } from 'typeorm';

const HASH = 'CHAR(64) CHARACTER SET ascii COLLATE ascii_bin';
const CHARSET = 'ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/**
 * Local documents and their postings. Each step can be run again. A path is VARBINARY because binary comparison keeps trailing spaces
 * apart on both servers and leaves room in the key; postings lead with (collection, term), which is how they are read.
 */
const STEPS = [
  `CREATE TABLE IF NOT EXISTS documents (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    collection ${HASH} NOT NULL,
    path VARBINARY(1000) NOT NULL,
    title VARCHAR(512) NOT NULL,
    media_type VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body_sha256 ${HASH} NOT NULL,
    size_bytes BIGINT UNSIGNED NOT NULL,
    modified_at_ms BIGINT UNSIGNED NOT NULL,
    length INT UNSIGNED NOT NULL,
    text_deflated MEDIUMBLOB NOT NULL,
    UNIQUE KEY documents_path (collection, path),
    KEY documents_length (collection, length)
  ) ${CHARSET}`,
  `CREATE TABLE IF NOT EXISTS document_terms (
    collection ${HASH} NOT NULL,
    term VARCHAR(64) NOT NULL,
    document_id INT UNSIGNED NOT NULL,
    occurrences INT UNSIGNED NOT NULL,
    PRIMARY KEY (collection, term, document_id),
    KEY document_terms_document (document_id)
  ) ${CHARSET}`,
];

export class DocumentIndex1700000002000 implements MigrationInterface {
  readonly name = 'DocumentIndex1700000002000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const step of STEPS) await queryRunner.query(step);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE IF EXISTS document_terms');
    await queryRunner.query('DROP TABLE IF EXISTS documents');
  }
}
