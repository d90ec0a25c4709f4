import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Folders where packages put servers, although they are often not on a user's PATH. */
const EXTRA_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/libexec', '/opt/homebrew/bin', '/usr/local/bin', '/opt/homebrew/opt/mysql/bin', '/opt/homebrew/opt/mariadb/bin'];

/** The first of `names` that can be run, by name order, then by PATH order. */
export function findBinary(names: readonly string[], searchPath: string, extraFolders: readonly string[] = EXTRA_FOLDERS): string | undefined {
  const folders = [...searchPath.split(path.delimiter).filter(Boolean), ...extraFolders];
  for (const name of names) {
    for (const folder of folders) {
      const file = path.join(folder, name);
      if (isRunnable(file)) return file;
    }
  }
  return undefined;
}

function isRunnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface DatabaseBinaries {
  server: string;
  /** MariaDB's own set-up program; undefined for MySQL, whose server sets itself up. */
  installer: string | undefined;
}

export const findRedis = (searchPath: string): string | undefined => findBinary(['redis-server', 'valkey-server'], searchPath);

/** MariaDB is only usable with its set-up program; `mysqld` may be either product, which the missing installer tells. */
export function findDatabase(searchPath: string): DatabaseBinaries | undefined {
  const installer = findBinary(['mariadb-install-db', 'mysql_install_db'], searchPath);
  const mariadb = findBinary(['mariadbd'], searchPath);
  if (mariadb && installer) return { server: mariadb, installer };
  const mysqld = findBinary(['mysqld'], searchPath);
  return mysqld && !mariadb ? { server: mysqld, installer: undefined } : undefined;
}
