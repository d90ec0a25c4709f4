import { execFileSync } from 'node:child_process';
import { chown, stat } from 'node:fs/promises';
import path from 'node:path';
import type { RunAs } from './processes.ts';

const OTHERS_MAY_ENTER = 0o001;

/**
 * The user that servers run as. Not root: ourselves (undefined). Root: the owner of the folder, or `nobody`, when every folder above can be
 * entered by others; else root itself (undefined), which the servers then have to be told.
 */
export async function chooseRunAs(directory: string): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (!(await canBeReachedByOthers(directory))) return undefined;
  const owner = await stat(directory);
  if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return nobody();
}

async function canBeReachedByOthers(directory: string): Promise<boolean> {
  for (let folder = directory; ; folder = path.dirname(folder)) {
    if (((await stat(folder)).mode & OTHERS_MAY_ENTER) === 0) return false;
    if (folder === path.dirname(folder)) return true;
  }
}

function nobody(): RunAs | undefined {
  try {
    const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    return undefined;
  }
}

/** Gives a file or folder to the server's user. Nothing to do when that is ourselves. */
export async function giveTo(runAs: RunAs | undefined, ...targets: string[]): Promise<void> {
  if (runAs) for (const target of targets) await chown(target, runAs.uid, runAs.gid);
}
