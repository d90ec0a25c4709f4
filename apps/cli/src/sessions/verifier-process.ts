import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { QuaestorError, type ErrorCode } from '#contracts';
import type { VerifiedSession } from '#domain';
import type { MadeFrom } from './verify-artifact.ts';

/** What the process has to say of the artifact it was given. */
export type Verdict = { kind: 'verified'; session: VerifiedSession } | { kind: 'refused'; code: ErrorCode; message: string };

/** The compiled process beside compiled code, the source beside source. */
const EXTENSION = extname(import.meta.url);
const CHILD_PATH = fileURLToPath(new URL(`./verifier-child${EXTENSION}`, import.meta.url));
/** May read files and nothing else. */
const CHILD_FLAGS = [...(EXTENSION === '.ts' ? ['--conditions=source'] : []), '--max-old-space-size=256', '--permission', '--allow-fs-read=*'];

/** `verifyArtifact` in a process of its own, which shares no state with whoever made the file and can write nothing. Same errors. */
export async function verifyInProcess(file: string, madeFrom: MadeFrom): Promise<VerifiedSession> {
  const verdict = await new Promise<Verdict>((resolve, reject) => {
    const child = fork(CHILD_PATH, [file, madeFrom.file, String(madeFrom.recover)], { execArgv: CHILD_FLAGS, env: {}, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    child.on('message', (message) => resolve(message as Verdict));
    child.on('error', reject);
    child.on('close', (code) => reject(new QuaestorError('INTERNAL_ERROR', `The process that verifies the artifact ended with code ${code} and without a verdict.`)));
  });
  if (verdict.kind === 'verified') return verdict.session;
  throw new QuaestorError(verdict.code, `The successor is not sound, so nothing was published: ${verdict.message}`);
}
