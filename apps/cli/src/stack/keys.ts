import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const KEY_BYTES = 32;

/** Where a stack keeps its generated keys; readable by their owner only. */
export const keyFiles = (directory: string): { apiKey: string; adminKey: string } => ({
  apiKey: path.join(directory, 'api-key'),
  adminKey: path.join(directory, 'admin-key'),
});

/** The key in `file`, made once. Two processes that make it at the same moment end with the same one. */
export function readOrMakeKey(file: string, prefix: string): string {
  mkdirSync(path.dirname(file), { recursive: true });
  try {
    writeFileSync(file, `${prefix}${randomBytes(KEY_BYTES).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
