import { createHash } from 'node:crypto';
import { opendir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { QuaestorError } from '#contracts';
import type { Environment } from '#platform';

const DOCUMENT_EXTENSIONS = new Set(['.md', '.markdown', '.txt', '.html', '.htm', '.pdf']);
const HASH_CHARS = 12;

/**
 * The real path of a folder that can be researched.
 * @throws QuaestorError `DOCS_FOLDER_INVALID` when it is missing, no folder, unreadable, or holds no document.
 */
export async function checkDocsFolder(folder: string): Promise<string> {
  if (folder.trim() === '') throw new QuaestorError('DOCS_FOLDER_INVALID', 'The document folder has no name: give one with --docs.');
  const shown = path.resolve(folder);
  try {
    const real = await realpath(shown);
    if (!(await stat(real)).isDirectory()) throw invalid(shown, 'is not a folder');
    if (!(await holdsDocument(real))) throw invalid(shown, `holds no document (${[...DOCUMENT_EXTENSIONS].join(', ')})`);
    return real;
  } catch (error) {
    if (error instanceof QuaestorError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    throw invalid(shown, code === 'ENOENT' ? 'does not exist' : code === 'EACCES' || code === 'EPERM' ? 'may not be read' : `cannot be read (${code})`, error);
  }
}

const invalid = (folder: string, problem: string, cause?: unknown): QuaestorError =>
  new QuaestorError('DOCS_FOLDER_INVALID', `The document folder ${folder} ${problem}: name another one with --docs.`, { cause });

async function holdsDocument(folder: string): Promise<boolean> {
  const folders: string[] = [];
  for await (const entry of await opendir(folder)) {
    if (entry.name.startsWith('.')) continue;
    if (entry.isFile() && DOCUMENT_EXTENSIONS.has(path.extname(entry.name).toLowerCase())) return true;
    if (entry.isDirectory()) folders.push(path.join(folder, entry.name));
  }
  for (const below of folders) if (await holdsDocument(below)) return true;
  return false;
}

/** Settings that decide what a run does and costs; a run never meets a stack that was started with others. */
const DECISIVE = ['MODEL_PROVIDER', 'MODEL_BASE_URL', 'MODEL_NAME', 'SEARCH_PROVIDER', 'SEARXNG_URL'] as const;

/**
 * The database of a document folder under the given settings: two folders, or two models, never share runs, jobs or an index, so that a
 * command never carries on, and pays for, what another one began under other settings.
 */
export function databaseNameOf(realFolder: string, settings: Environment): string {
  const decisive = DECISIVE.map((name) => settings[name] ?? '');
  return `quaestor_${createHash('sha256').update([realFolder, ...decisive].join('\n')).digest('hex').slice(0, HASH_CHARS)}`;
}

/** The same server with another database. */
export function withDatabase(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.toString();
}
