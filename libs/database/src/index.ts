export * from './data-source.ts';
export * from './migrate.ts';
export * from './sql.ts';
export * from './repositories/document-index.repository.ts';
