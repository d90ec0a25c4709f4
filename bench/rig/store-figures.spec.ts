import { expect, it } from 'vitest';
import { commitsIn, splitStatements } from './store-figures.ts';

const on = (thread: number, ...statements: string[]) => statements.map((statement) => ({ thread, statement }));

it('counts one commit for a transaction that wrote, and one for each write outside', () => {
  const rows = [...on(1, 'START TRANSACTION', 'SELECT 1', 'INSERT INTO a VALUES (1)', 'update a set b = 1', 'COMMIT'), ...on(1, 'INSERT INTO a VALUES (2)'), ...on(2, 'BEGIN', 'SELECT 1 FOR UPDATE', 'COMMIT')];
  expect(commitsIn(rows)).toEqual({ writing: 2, readOnly: 1, statements: 9, roundTrips: 9 });
});
it('keeps interleaved connections apart and forgets what was rolled back', () => {
  const rows = [...on(1, 'BEGIN'), ...on(2, 'DELETE FROM a'), ...on(1, 'DELETE FROM a'), ...on(3, 'BEGIN', 'DELETE FROM b', 'ROLLBACK'), ...on(1, 'COMMIT')];
  expect(commitsIn(rows)).toMatchObject({ writing: 2, readOnly: 0 });
});
it('reads texts of several statements, and no semicolon inside a quoted text', () => {
  expect(splitStatements("BEGIN; INSERT INTO a VALUES ('x; COMMIT', 'it\\'s;');COMMIT;")).toEqual(['BEGIN', 'INSERT INTO a VALUES (?, ?)', 'COMMIT']);
  expect(commitsIn(on(1, "START TRANSACTION; INSERT INTO a VALUES ('; COMMIT;'); SELECT 1; COMMIT"))).toEqual({ writing: 1, readOnly: 0, statements: 4, roundTrips: 1 });
});
