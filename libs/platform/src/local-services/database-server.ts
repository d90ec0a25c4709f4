import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { QuaestorError } from '#contracts';
import type { DatabaseBinaries } from './binaries.ts';
import { databaseAnswers } from './probes.ts';
import type { RunAs } from './processes.ts';
import { giveTo } from './run-as.ts';
import type { ServerPlan } from './server-plan.ts';

const run = promisify(execFile);

export const DATABASE_USER = 'quaestor';
export const DATABASE_NAME = 'quaestor';

/** How a private MariaDB (or MySQL) is set up below `directory`: durable on every commit, small, and reachable over loopback only. */
export function databasePlan(binaries: DatabaseBinaries, directory: string, password: string): ServerPlan {
  const home = path.join(directory, 'mariadb');
  const dataFolder = path.join(home, 'data');
  const firstStatements = path.join(home, 'init.sql');
  return {
    name: 'database',
    title: binaries.installer ? 'MariaDB' : 'MySQL',
    marker: dataFolder,
    home,
    command: binaries.server,
    async prepare(port: number, runAs: RunAs | undefined) {
      await mkdir(path.join(home, 'tmp'), { recursive: true, mode: 0o700 });
      await giveTo(runAs, home, path.join(home, 'tmp'));
      if (!existsSync(dataFolder)) await initialise(binaries, home, dataFolder, runAs);
      await writeFile(firstStatements, initStatements(password));
      await chmod(firstStatements, 0o600);
      await giveTo(runAs, firstStatements);
      return serverArguments(binaries, { home, dataFolder, firstStatements, port, runAs });
    },
    answers: (port) => databaseAnswers(port, DATABASE_USER, password),
    started: () => rm(firstStatements, { force: true }),
  };
}

/** Run at every start, so that a lost password file never locks anybody out. One statement per line: the server reads lines. */
function initStatements(password: string): string {
  const user = `'${DATABASE_USER}'@'127.0.0.1'`;
  return [
    `CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY '${password}';`,
    `ALTER USER ${user} IDENTIFIED BY '${password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO ${user} WITH GRANT OPTION;`,
    `ALTER USER 'root'@'localhost' IDENTIFIED BY '${password}';`,
    `DROP USER IF EXISTS ''@'localhost';`,
    `CREATE DATABASE IF NOT EXISTS ${DATABASE_NAME} CHARACTER SET utf8mb4;`,
    '',
  ].join('\n');
}

/** Sets up a data folder beside its place and moves it there when complete, so that a kill in between leaves nothing half made. */
async function initialise(binaries: DatabaseBinaries, home: string, dataFolder: string, runAs: RunAs | undefined): Promise<void> {
  const fresh = `${dataFolder}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  await giveTo(runAs, fresh);
  const common = ['--no-defaults', `--datadir=${fresh}`, ...rootFlag(runAs)];
  try {
    if (binaries.installer) {
      await run(binaries.installer, [...common, '--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-log-file-size=48M'], { cwd: home, ...runAs });
    } else {
      await run(binaries.server, [...common, '--initialize-insecure'], { cwd: home, ...runAs });
    }
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').slice(-3).join(' | ') : String(error);
    throw new QuaestorError('LOCAL_SERVICES_UNAVAILABLE', `The data folder ${dataFolder} could not be set up: ${output}`, { cause: error });
  }
  await rename(fresh, dataFolder);
}

/** Both products refuse to run as root unless they are told to. */
const rootFlag = (runAs: RunAs | undefined): string[] => (runAs === undefined && process.getuid?.() === 0 ? ['--user=root'] : []);

function serverArguments(
  binaries: DatabaseBinaries,
  { home, dataFolder, firstStatements, port, runAs }: { home: string; dataFolder: string; firstStatements: string; port: number; runAs: RunAs | undefined },
): string[] {
  const product = binaries.installer
    ? ['--innodb-log-file-size=48M']
    : ['--innodb-redo-log-capacity=100M', '--mysqlx=OFF'];
  return [
    '--no-defaults',
    `--datadir=${dataFolder}`,
    `--tmpdir=${path.join(home, 'tmp')}`,
    // Relative to the data folder: an absolute path may be longer than a socket address can hold.
    '--socket=server.sock',
    '--pid-file=server.pid',
    `--init-file=${firstStatements}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--character-set-server=utf8mb4',
    '--collation-server=utf8mb4_bin',
    '--transaction-isolation=READ-COMMITTED',
    '--sql-mode=STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=128M',
    '--max-allowed-packet=64M',
    '--max-connections=500',
    '--skip-log-bin',
    '--performance-schema=OFF',
    ...product,
    ...rootFlag(runAs),
  ];
}
