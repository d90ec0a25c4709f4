import { readdir, realpath, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { QuaestorError } from '#contracts';

/** Extension -> media type of what is indexed. Another format is one line here and its extraction. */
export const DOCUMENT_TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.markdown': 'text/markdown',
  '.txt': 'text/plain',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.pdf': 'application/pdf',
};

const FILE_BYTES_MAX = 20 * 1024 * 1024;
const PATH_BYTES_MAX = 1_000;
const SKIPPED_FOLDERS = new Set(['node_modules']);

export interface FoundDocument {
  /** `/`-separated, below the folder. */
  path: string;
  absolutePath: string;
  sizeBytes: number;
  modifiedAtMs: number;
}

export interface FolderContent {
  documents: FoundDocument[];
  skipped: { path: string; reason: string }[];
}

/**
 * The readable documents below a folder, in path order. Hidden entries and `node_modules` are passed over; a link is followed only if it
 * stays inside, and a folder met twice is entered once. Throws `DOCS_FOLDER_INVALID` when the folder is missing, no folder, unreadable,
 * or holds no document.
 */
export async function walkDocuments(folder: string): Promise<FolderContent> {
  const root = await openFolder(folder);
  const content: FolderContent = { documents: [], skipped: [] };
  await new Walk(root, content).enter(root, '');
  if (content.documents.length === 0 && content.skipped.length === 0) {
    throw invalid(folder, `holds no document that can be read (${Object.keys(DOCUMENT_TYPES).join(', ')})`);
  }
  content.documents.sort((left, right) => (left.path < right.path ? -1 : 1));
  return content;
}

async function openFolder(folder: string): Promise<string> {
  try {
    const root = await realpath(folder);
    if (!(await stat(root)).isDirectory()) throw invalid(folder, 'is not a folder');
    await readdir(root);
    return root;
  } catch (error) {
    if (error instanceof QuaestorError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw invalid(folder, code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is not a folder' : 'cannot be read', error);
  }
}

class Walk {
  readonly #root: string;
  readonly #content: FolderContent;
  readonly #entered = new Set<string>();

  constructor(root: string, content: FolderContent) {
    this.#root = root;
    this.#content = content;
  }

  async enter(folder: string, path: string): Promise<void> {
    const real = await realpath(folder);
    if (this.#entered.has(real)) return;
    this.#entered.add(real);
    for (const name of (await readdir(folder)).sort()) {
      if (name.startsWith('.') || SKIPPED_FOLDERS.has(name)) continue;
      const childPath = path === '' ? name : `${path}/${name}`;
      await this.#visit(join(folder, name), childPath).catch(() => this.#skip(childPath, 'cannot be read'));
    }
  }

  async #visit(absolutePath: string, path: string): Promise<void> {
    const real = await realpath(absolutePath);
    if (real !== this.#root && !real.startsWith(this.#root + sep)) return this.#skip(path, 'is a link that leaves the folder');
    const facts = await stat(real);
    if (facts.isDirectory()) return await this.enter(absolutePath, path);
    if (!facts.isFile() || !(extname(path).toLowerCase() in DOCUMENT_TYPES)) return;
    if (facts.size > FILE_BYTES_MAX) return this.#skip(path, `is larger than ${FILE_BYTES_MAX} bytes`);
    if (Buffer.byteLength(path) > PATH_BYTES_MAX) return this.#skip(path, `has a path longer than ${PATH_BYTES_MAX} bytes`);
    this.#content.documents.push({ path, absolutePath: real, sizeBytes: facts.size, modifiedAtMs: Math.floor(facts.mtimeMs) });
  }

  #skip(path: string, reason: string): void {
    this.#content.skipped.push({ path, reason });
  }
}

function invalid(folder: string, reason: string, cause?: unknown): QuaestorError {
  return new QuaestorError('DOCS_FOLDER_INVALID', `The document folder ${folder} ${reason}.`, { cause });
}
