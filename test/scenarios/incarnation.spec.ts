import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { migrateDatabase } from '#database';
import { FaultReceipts, SCRIPTS } from '#testing';
import { WholeStack } from './spec-support/whole-stack.ts';

/** Each of its model calls takes a part of a second, so that there is a run to find in the middle of one. */
const SCRIPT = 'bench(n2,k4,t20,m40,e20,d15)';

const receipts = new FaultReceipts();
let scenario: WholeStack;
let admin: Connection;
let name: string;
beforeAll(async () => {
  scenario = await WholeStack.open({ scripts: SCRIPTS });
  name = new URL(scenario.database.url).pathname.slice(1);
  admin = await mysql.createConnection({ uri: new URL('/', scenario.database.url).toString(), multipleStatements: true });
}, 90_000);
afterEach(async () => {
  await admin.query(`UNLOCK TABLES; DROP DATABASE IF EXISTS \`${name}_older\``);
});
afterAll(async () => {
  await admin?.end();
  await scenario?.close();
}, 60_000);

const pids = (): number[] => Object.values(scenario.stack.pids()).flat();
const incarnation = async (): Promise<unknown> => (await scenario.sql.rows(`SELECT value FROM meta WHERE name = 'incarnation'`))[0]?.['value'];

async function tables(): Promise<string[]> {
  const [rows] = await admin.query<RowDataPacket[]>('SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?', [name]);
  return rows.map((row) => row['name'] as string);
}

/** All rows of one database as they are now, under locks of all tables, in the place of those of another. */
async function copy(from: string, to: string): Promise<void> {
  const all = await tables();
  await admin.query(`SET FOREIGN_KEY_CHECKS = 0; LOCK TABLES ${all.flatMap((table) => [`\`${from}\`.\`${table}\` READ`, `\`${to}\`.\`${table}\` WRITE`]).join(', ')}`);
  for (const table of all) await admin.query(`DELETE FROM \`${to}\`.\`${table}\`; INSERT INTO \`${to}\`.\`${table}\` SELECT * FROM \`${from}\`.\`${table}\``);
}

async function backUp(): Promise<void> {
  await admin.query(`CREATE DATABASE \`${name}_older\``);
  for (const table of await tables()) await admin.query(`CREATE TABLE \`${name}_older\`.\`${table}\` LIKE \`${name}\`.\`${table}\``);
  await copy(name, `${name}_older`);
  await admin.query('UNLOCK TABLES');
}

/** The older rows under a new name, as the operations manual asks for. */
async function restore(): Promise<void> {
  await copy(`${name}_older`, name);
  await admin.query(`UPDATE \`${name}\`.meta SET value = LEFT(UUID(), 8) WHERE name = 'incarnation'; UNLOCK TABLES`);
}

const turnsOf = async (id: string): Promise<number> => Number((await scenario.sql.rows('SELECT SUM(turn) AS turns FROM runs WHERE root_run_id = ?', [id]))[0]?.['turns']);

/** No process of those is left, and as many others run in their place. */
const untilReplaced = (former: number[]): Promise<void> =>
  scenario.until('other processes', () => ((now) => now.length === former.length && now.every((pid) => pid > 0 && !former.includes(pid)))(pids()));

it('[Q-14] [R15] services leave a database that was restored under a run in progress, and others go on with what it holds', async () => {
  const [former, before] = [pids(), await incarnation()];
  const run = await scenario.ask(SCRIPT, 'restored');
  run.events.catch(() => undefined);
  await scenario.until('the first turns of workers', async () => (await turnsOf(run.id)) >= 3);
  await backUp();
  const older = await turnsOf(run.id);
  await scenario.until('turns that the older copy does not have', async () => (await turnsOf(run.id)) >= older + 2);
  await restore();
  receipts.record('restore', 'database', `${String(before)} -> ${String(await incarnation())}`);
  await untilReplaced(former);
  expect(await incarnation()).not.toBe(before);
  await scenario.until('the end of the run', async () => (await scenario.runs(run.id)).every((row) => row['ended_at'] !== null));
  expect((await scenario.runs(run.id))[0]).toMatchObject({ status: 'completed', stop_reason: 'answered' });
  expect(await scenario.problems()).toEqual([]);
  receipts.require('restore');
}, 90_000);

it('[Q-14] [R15] services leave a database that was dropped and created anew, and others take runs on it', async () => {
  const [former, before] = [pids(), await incarnation()];
  const lost = await scenario.ask(SCRIPT, 'dropped');
  lost.events.catch(() => undefined);
  await scenario.until('a run in progress', async () => (await turnsOf(lost.id)) >= 1);
  await admin.query(`DROP DATABASE \`${name}\``);
  await migrateDatabase(scenario.database.url);
  receipts.record('recreate', 'database', `${String(before)} -> ${String(await incarnation())}`);
  await untilReplaced(former);
  expect(await incarnation()).not.toBe(before);
  const run = await scenario.ask(SCRIPT, 'recreated');
  expect((await run.events).at(-1)).toMatchObject({ type: 'run_status', status: 'completed' });
  expect(await scenario.problems()).toEqual([]);
  receipts.require('recreate');
}, 90_000);
