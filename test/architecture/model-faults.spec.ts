import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { STREAM_CASES } from '#testing';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const TITLES = /(?:\b(?:describe|it)|\]|\))(?:\.each)?\(\s*(['"`])((?:(?!\1).)+)\1/g;
const ROW = /\[([LB]\d\d)\]/g;

/** Rows of the table of known faults, in its order. */
const rows = [...readFileSync(path.join(root, 'docs/model-faults.md'), 'utf8').matchAll(/^\| ([LB]\d\d) \|/gm)].map(([, row]) => row!);

function* specsBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    const file = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) yield* specsBelow(file);
    else if (/(\.spec|\/conformance)\.ts$/.test(file)) yield file;
  }
}

/** Rows that titles name, with how many titles do. */
const named = new Map<string, number>();
const count = (row: string): unknown => named.set(row, (named.get(row) ?? 0) + 1);
for (const file of ['libs', 'apps', 'test', 'bench'].flatMap((folder) => [...specsBelow(folder)])) {
  for (const [, , title = ''] of readFileSync(path.join(root, file), 'utf8').matchAll(TITLES)) for (const [, row] of title.matchAll(ROW)) count(row!);
}
for (const streamCase of STREAM_CASES) for (const row of streamCase.rows.split(' ')) count(row);

describe('known faults of model servers', () => {
  it('are a table without gaps', () => {
    expect(rows.filter((row) => row.startsWith('L'))).toEqual(Array.from({ length: 52 }, (_, index) => `L${String(index + 1).padStart(2, '0')}`));
    expect(new Set(rows).size).toBe(rows.length);
  });

  it.each(rows)('%s is played by a test', (row) => expect(named.get(row) ?? 0).toBeGreaterThan(0));
});
