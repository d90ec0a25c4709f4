import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Names a folder's documents in the shared index: a hash of its real path. */
export async function collectionOf(folder: string): Promise<string> {
  const path = await realpath(folder).catch(() => resolve(folder));
  return createHash('sha256').update(path, 'utf8').digest('hex');
}
