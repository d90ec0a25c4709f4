import { expect, it } from 'vitest';
import { failureOf, isConnectionAlive, type SqlFailure } from './sql-failure.ts';

const errors: [string, object, SqlFailure, boolean][] = [
  ['[M03] a deadlock', { errno: 1213 }, 'conflict', true],
  ['[M04] a lock wait', { errno: 1205 }, 'conflict', true],
  ['[M19] a snapshot conflict of MariaDB', { errno: 1020 }, 'conflict', true],
  ['[M07] a full table', { errno: 1114 }, 'away', true],
  ['[M07] a full disk', { errno: 1021 }, 'away', true],
  ['[M08] a read-only server', { errno: 1290 }, 'away', true],
  ['[M09] no free connection', { errno: 1040, fatal: true }, 'away', false],
  ['[M10] a server that shuts down', { errno: 1053 }, 'broken', false],
  ['[M11] a killed connection on MariaDB', { errno: 1927 }, 'broken', false],
  ['[M11] a killed connection on MySQL', { errno: 3169 }, 'broken', false],
  ['[M11] a connection that the server closed', { code: 'PROTOCOL_CONNECTION_LOST', fatal: true }, 'broken', false],
  ['[R15] a database that was dropped under its connection', { errno: 1046 }, 'broken', false],
  ['[N02] a reset', { code: 'ECONNRESET', errno: -104, fatal: true }, 'broken', false],
  ['a server that is not there', { code: 'ECONNREFUSED', errno: -111, fatal: true }, 'away', false],
  ['[M06] a packet that is too large', { errno: 1153 }, 'other', true],
  ['[M16] a duplicate key', { errno: 1062 }, 'refused', true],
  ['an answer that is late', { code: 'ETIMEDOUT', fatal: true }, 'other', false],
  ['a bug of ours', new TypeError('x'), 'other', true],
];

it.each(errors)('%s', (_name, error, failure, isAlive) => {
  expect([failureOf(error), isConnectionAlive(error)]).toEqual([failure, isAlive]);
});
