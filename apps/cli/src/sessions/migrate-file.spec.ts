import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrateFile } from './migrate-file.ts';
import { verifyArtifact } from './verify-artifact.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'quaestor-session-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const HEADER = { type: 'session', version: 1, id: 's', createdAt: 0, delegationDepth: 0 };
const chunk = (seq: number, value: object): object => ({ type: 'assistant/chunk', seq, time: seq, data: { turn: 0, step: 0, chunk: value } });
const ROWS = [
  HEADER,
  { type: 'turn/start', seq: 0, time: 0, data: { turn: 0 } },
  { type: 'step/start', seq: 1, time: 1, data: { turn: 0, step: 0 } },
  chunk(2, { type: 'text-delta', index: 0, text: 'half' }),
  chunk(3, { type: 'finish', reason: { kind: 'error', failure: { message: 'm', code: 'c' } } }),
  chunk(4, { type: 'text-delta', index: 0, text: 'whole' }),
  chunk(5, { type: 'finish', reason: { kind: 'stop' } }),
  { type: 'assistant/message', seq: 6, time: 6, surfaceOp: 'append', sourceEventSeqs: [4, 5], data: { turn: 0, step: 0, message: { role: 'assistant', content: [{ type: 'text', text: 'whole' }] } } },
  { type: 'step/end', seq: 7, time: 7, data: { turn: 0, step: 0 } },
];
const textOf = (rows: unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const put = (name: string, content: string | Buffer): string => {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
};
const hash = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

describe('migrateFile', () => {
  it('publishes the successor beside its source, which stays byte for byte', async () => {
    const source = put('session.v1.jsonl', textOf(ROWS));
    const [before, inode] = [hash(source), statSync(source).ino];
    const migrated = await migrateFile(source);
    expect(migrated).toMatchObject({ file: path.join(folder, 'session.v2.jsonl'), events: 5, messages: 1, attempts: 1 });
    expect([hash(source), statSync(source).ino]).toEqual([before, inode]);
    expect(readdirSync(folder)).toEqual(['session.v1.jsonl', 'session.v2.jsonl']);
    const rows = readFileSync(migrated.file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as { type: string });
    expect(rows.map(({ type }) => type)).toEqual(['session', 'turn/start', 'step/start', 'assistant/attempt', 'assistant/message', 'step/end']);
    expect(await verifyArtifact(migrated.file, { file: source, recover: false })).toMatchObject({ events: 5 });
  });

  it('reads and writes compressed artifacts, of several frames too', async () => {
    const source = put('session.jsonl.zstd', Buffer.concat(ROWS.map((row) => zstdCompressSync(textOf([row])))));
    const { file } = await migrateFile(source);
    expect(path.basename(file)).toBe('session.v2.jsonl.zstd');
    expect(zstdDecompressSync(readFileSync(file)).toString('utf8')).toContain('assistant/attempt');
  });

  it('never replaces a file', async () => {
    const source = put('session.jsonl', textOf(ROWS));
    put('session.v2.jsonl', 'mine');
    await expect(migrateFile(source)).rejects.toThrow('exists already');
    expect(readFileSync(path.join(folder, 'session.v2.jsonl'), 'utf8')).toBe('mine');
  });

  it.each<[string, string, string, string]>([
    ['a row that is cut', 'a.jsonl', textOf(ROWS).slice(0, -5), 'Row 9 of the artifact is cut off: the file ends in the middle of it.'],
    ['an empty file', 'a.jsonl', '', 'Row 1 of the artifact is missing: the file is empty.'],
    ['no header', 'a.jsonl', '{"type":"turn/start"}\n', 'Row 1 of the artifact is not the header of a session artifact.'],
    ['a version of tomorrow', 'a.jsonl', '{"type":"session","version":3}\n', 'Row 1 of the artifact has version 3; versions 1 and 2 can be read.'],
    ['what is migrated already', 'a.jsonl', '{"type":"session","version":2,"id":"s","createdAt":0,"isSeeded":false,"delegationDepth":0}\n', 'Row 1 of the artifact has version 2 already.'],
    ['a gap', 'a.jsonl', textOf([HEADER, { ...ROWS[1]!, seq: 1 }]), 'Row 2 of the artifact has seq 1 where 0 must stand.'],
    ['an answer its chunks do not give', 'a.jsonl', textOf(ROWS).replace('"content":[{"type":"text","text":"whole"}]', '"content":[]'), 'The successor is not sound, so nothing was published: Row 5 of the artifact has a stream that gives another content than its message.'],
    ['another kind of file', 'a.txt', 'x', 'its name must end in .jsonl or .jsonl.zstd.'],
    ['damaged compression', 'a.jsonl.zstd', 'not zstd', 'is not whole Zstandard data.'],
  ])('refuses %s in one sentence and leaves nothing behind', async (_what, name, content, sentence) => {
    const source = put(name, content);
    await expect(migrateFile(source)).rejects.toThrow(sentence);
    expect(readdirSync(folder)).toEqual([name]);
  });

  it('leaves out the broken end of a file when it is told to, and says why', async () => {
    const source = put('torn.v1.jsonl', textOf(ROWS.slice(0, 6)) + '{"type":"assistant/ch');
    const migrated = await migrateFile(source, { recover: true });
    expect(migrated).toMatchObject({ events: 4, messages: 0, attempts: 2 });
    expect(migrated.fault?.message).toBe('Row 7 of the artifact is cut off: the file ends in the middle of it.');
    expect((await migrateFile(put('whole.jsonl', textOf(ROWS)), { recover: true })).fault).toBeNull();
  });

  it('recovers nothing when a turn ended after the broken row', async () => {
    const turnEnd = { type: 'turn/end', seq: 8, time: 8, data: { turn: 0, reason: { kind: 'completed' } } };
    const source = put('hole.jsonl', `${textOf(ROWS.slice(0, 4))}###\n${textOf([...ROWS.slice(5), turnEnd])}`);
    await expect(migrateFile(source, { recover: true })).rejects.toThrow('Row 5 of the artifact is not JSON.');
    expect(readdirSync(folder)).toEqual(['hole.jsonl']);
  });

  it('says so when there is no such file', async () => {
    await expect(migrateFile(path.join(folder, 'none.jsonl'))).rejects.toThrow('cannot be read');
  });
});

describe('verifyArtifact', () => {
  it('finds a chunk that was lost, doubled or changed on the way', async () => {
    const source = put('session.jsonl', textOf(ROWS));
    const { file } = await migrateFile(source);
    const text = readFileSync(file, 'utf8');
    for (const [name, changed] of Object.entries({
      changed: text.replaceAll('"half"', '"hald"'),
      lost: text.replace('{"type":"text-chunks","time0":2,"index":0,"dt":[],"texts":["half"]},', ''),
      moved: text.replace('"time0":2', '"time0":3'),
    })) {
      expect(changed).not.toBe(text);
      await expect(verifyArtifact(put(`${name}.jsonl`, changed), { file: source, recover: false }), name).rejects.toThrow('does not expand to the chunks of its source');
    }
  });
});
