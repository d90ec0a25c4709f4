import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SKIPPED_FOLDERS = new Set(['node_modules', 'dist', '.git', '.local', 'coverage', 'out']);
/** In a linked working tree `.git` is a file with an address. */
const SKIPPED_FILES = new Set(['package-lock.json', 'LICENSE', '.git']);
const MAX_LINES = 300;

/** Pieces, so that this file does not contain the words it looks for. */
const FORBIDDEN = [['/wo', 'rk/'], ['shared/', 'reference'], ['TO', 'DO'], ['FIX', 'ME']].map((pieces) => pieces.join(''));

const foldersIn = (folder: string): string[] =>
  readdirSync(path.join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => `${folder}/${entry.name}`);

function* filesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    const file = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!SKIPPED_FOLDERS.has(entry.name)) yield* filesBelow(file);
    } else if (entry.isFile() && !SKIPPED_FILES.has(entry.name)) yield file;
  }
}

const files = [...filesBelow('.')];
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const libraries = foldersIn('libs');
const withReadme = [...libraries, ...foldersIn('apps'), ...foldersIn('test'), 'bench', 'scripts', 'scripts/lint', 'test', 'libs', 'apps'];

describe('layout', () => {
  it.each(libraries)('%s has one index.ts, which package.json names', (library) => {
    expect(existsSync(path.join(root, library, 'src/index.ts'))).toBe(true);
    const { imports } = JSON.parse(read('package.json')) as { imports: Record<string, { source: string }> };
    expect(imports[`#${path.basename(library)}`]?.source).toBe(`./${library}/src/index.ts`);
  });

  it.each(withReadme)('%s has a README.md that starts with a sentence', (folder) => {
    const [firstLine = ''] = read(`${folder}/README.md`).split('\n');
    expect(firstLine).toMatch(/^[A-Z`].{20,}[.]$/);
  });
});

describe('every file', () => {
  it.each(FORBIDDEN)('does not mention %s', (word) => {
    const pattern = /^\w+$/.test(word) ? new RegExp(`\\b${word}\\b`) : word;
    expect(files.filter((file) => (typeof pattern === 'string' ? read(file).includes(pattern) : pattern.test(read(file))))).toEqual([]);
  });

  it(`stops at ${MAX_LINES} lines, unless it is a spec or a migration`, () => {
    const measured = files.filter((file) => /\.(ts|js|mjs)$/.test(file) && !/\.spec\.ts$|\/migrations\//.test(file));
    expect(measured.length).toBeGreaterThan(100);
    expect(measured.filter((file) => read(file).trimEnd().split('\n').length > MAX_LINES)).toEqual([]);
  });
});
