import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { TcpProxy, waitUntil } from '#testing';
import { JournalWorld } from '../spec-support/journal-world.ts';
import { rowsOf } from '../sql.ts';
import { SweepTurn } from './sweep-turn.ts';

let world: JournalWorld;
let proxy: TcpProxy;
beforeAll(async () => {
  world = await JournalWorld.open();
  proxy = await TcpProxy.open(world.database.url);
});
afterEach(() => {
  for (const turn of turns.splice(0)) turn.close();
});
afterAll(async () => {
  await proxy?.close();
  await world?.close();
});

const turns: SweepTurn[] = [];
function newTurn(url = world.database.url, waitMaxSeconds = 20): SweepTurn {
  const turn = new SweepTurn({ url, intervalMs: 100, waitMaxSeconds });
  turns.push(turn);
  return turn;
}
const LOOK = [{ sql: 'SELECT 7 AS seen' }];
const seen = async (turn: SweepTurn): Promise<unknown> => rowsOf(await turn.batch(LOOK), 0)[0]?.['seen'];
/** A look under way, and whether it has ended. */
function waiting(turn: SweepTurn) {
  const state = { done: false, look: seen(turn).finally(() => (state.done = true)) };
  state.look.catch(() => undefined);
  return state;
}
const isWaiting = () => waitUntil(async () => Number(await world.one(`SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT GET_LOCK%'`)) > 0, { what: 'a wait for the turn' });

it('[Q-15] one process looks as often as it likes, another not before that one is gone', async () => {
  const first = newTurn(proxy.url);
  for (let look = 0; look < 3; look++) expect(await seen(first)).toBe(7);
  const second = waiting(newTurn());
  await isWaiting();
  expect(await seen(first)).toBe(7);
  expect(second.done).toBe(false);
  proxy.reset();
  expect(await second.look).toBe(7);
  proxy.receipts.require('reset');
});

it('[Q-09] a process that keeps its connection and falls silent loses the turn', async () => {
  const first = newTurn();
  await seen(first);
  // far longer than the silence that is allowed: not the look of one that waits in vain
  expect(await seen(newTurn(world.database.url, 600))).toBe(7);
});

it('[Q-15] whoever waits in vain looks all the same', async () => {
  const first = newTurn();
  await seen(first);
  const beating = setInterval(() => void seen(first).catch(() => undefined), 200);
  try {
    expect(await seen(newTurn(world.database.url, 1))).toBe(7);
  } finally {
    clearInterval(beating);
  }
});

it('a broken connection fails one look and no other', async () => {
  const turn = newTurn(proxy.url);
  await seen(turn);
  proxy.cutReplyTo('seen', { isWholeReply: () => true });
  await expect(seen(turn)).rejects.toThrow();
  expect(await seen(turn)).toBe(7);
});

it('[Q-30] can be given up in the middle of a wait', async () => {
  await seen(newTurn());
  const turn = newTurn();
  const second = waiting(turn);
  await isWaiting();
  turn.close();
  await expect(second.look).rejects.toThrow('given up');
  await expect(seen(turn)).rejects.toThrow('given up');
});
