import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AttemptId, RunId, SourceId } from '#contracts';
import { JournalWorld, mint, newSourceId, paidCall, settledCall } from '../spec-support/journal-world.ts';
import { SourceRepository } from './source.repository.ts';

let world: JournalWorld;
let sources: SourceRepository;
beforeAll(async () => {
  world = await JournalWorld.open();
  sources = new SourceRepository(world.sql);
});
afterAll(() => world?.close());

const pageOf = (url: string, text: string) => ({ url, finalUrl: `${url}#end`, title: `Title of ${url}`, mediaType: 'text/html', text, bodySha256: createHash('sha256').update(text).digest('hex'), extraction: 'test' });

async function read(runId: RunId, texts: [string, string][]): Promise<SourceId[]> {
  const attemptId = mint<AttemptId>('att');
  const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: texts.map((_, index) => paidCall(attemptId, index, 'read')) });
  const ids = texts.map(() => newSourceId());
  for (const [index, [url, text]] of texts.entries()) {
    const call = settled.calls[index]!;
    await world.journal.closeTurn(fence, { settled: [settledCall(call.toolCallId, call.reservation, { id: ids[index]!, page: pageOf(url, text) })], close: null, nextReservation: null });
  }
  return ids;
}

it('[Q-23] keeps each body whole, finds the newest of an address, and knows no source of another run', async () => {
  const [runId, other] = [await world.newRun(), await world.newRun()];
  const long = 'Größe 日本 😀 '.repeat(40_000);
  const [first, second, third] = await read(runId, [['https://a.example/', 'old'], ['https://b.example/', long], ['https://a.example/', 'new']]);
  expect(await sources.findByUrl(runId, 'https://a.example/')).toMatchObject({ id: third, text: 'new' });
  expect(await sources.get(runId, second!)).toMatchObject({ text: long, bodySha256: createHash('sha256').update(long).digest('hex') });
  expect((await sources.heads(runId)).map(({ id }) => id)).toEqual([first, second, third]);
  expect(await sources.get(other, first!)).toBeNull();
  expect(await sources.findByUrl(other, 'https://a.example/')).toBeNull();
  expect(await sources.findByUrl(runId, 'https://A.example/')).toBeNull();
  expect(await sources.heads(other)).toEqual([]);
});

it('[Q-36] says which body is broken, as a fault of the journal that no repeat would mend', async () => {
  const runId = await world.newRun();
  const [sourceId] = await read(runId, [['https://a.example/', 'text']]);
  await world.sql.change('UPDATE sources SET body = ? WHERE id = ?', [Buffer.from('no zstandard'), sourceId!]);
  await expect(sources.get(runId, sourceId!)).rejects.toMatchObject({ code: 'JOURNAL_INVALID', message: expect.stringContaining(sourceId!) as string });
});
