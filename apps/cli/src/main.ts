import { EXIT_CODES, QuaestorError } from '#contracts';
import { CommanderError } from 'commander';
import { exitCodeOfError } from './exit-codes.ts';
import { createProgram } from './program.ts';
import { BUILD_ROOT } from './project-root.ts';

const NODE_MIN = { major: 24, minor: 15 };

function assertNodeVersion(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > NODE_MIN.major || (major === NODE_MIN.major && minor >= NODE_MIN.minor)) return;
  throw new QuaestorError('CONFIG_INVALID', `Quaestor needs Node ${NODE_MIN.major}.${NODE_MIN.minor} or newer, this is ${process.version}: start it with "npm run quaestor", which finds the right one.`);
}

/** Runs one command; the exit code is the outcome. Nothing but results goes to standard output. */
async function main(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    assertNodeVersion();
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // commander has printed its own message; it ends help and --version with code 0
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage;
    process.stderr.write(`quaestor: ${messageOf(await completed(error))}\n`);
    return exitCodeOfError(error);
  }
}

/** Somebody with three bad settings is told all three, though each service reads its own. */
async function completed(error: unknown): Promise<unknown> {
  if (!(error instanceof QuaestorError) || error.code !== 'CONFIG_INVALID') return error;
  const [{ withAllProblems }, { loadServiceSchemas }] = await Promise.all([import('./configuration/all-problems.ts'), import('./configuration/service-schemas.ts')]);
  return withAllProblems(error, await loadServiceSchemas(BUILD_ROOT, 'js'));
}

function messageOf(error: unknown): string {
  if (error instanceof QuaestorError) return error.message;
  return `internal error: ${error instanceof Error ? error.message : String(error)}`;
}

process.exitCode = await main(process.argv.slice(2));
// A connection that is kept alive must not keep a finished command running.
process.exit();
