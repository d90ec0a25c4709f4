import { afterAll, expect, it } from 'vitest';
import mysql from 'mysql2/promise';
import { createTestDatabase, type TestDatabase } from './test-services.ts';

const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const database of databases) await database.drop();
});

it('gives each caller a migrated database of its own, and drops it', async () => {
  databases.push(await createTestDatabase(), await createTestDatabase());
  const [first, second] = databases as [TestDatabase, TestDatabase];
  expect(first.url).not.toBe(second.url);
  const connection = await mysql.createConnection(first.url);
  const [rows] = await connection.query("SELECT COUNT(*) AS found FROM meta WHERE name = 'incarnation'");
  expect(rows).toEqual([{ found: 1 }]);
  await connection.end();
  await first.drop();
  await expect(mysql.createConnection(first.url)).rejects.toThrow(/Unknown database/);
});
