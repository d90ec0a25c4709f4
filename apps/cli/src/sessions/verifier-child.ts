import { QuaestorError } from '#contracts';
import { verifyArtifact, type MadeFrom } from './verify-artifact.ts';
import type { Verdict } from './verifier-process.ts';

async function verdictOn(file: string, madeFrom: MadeFrom): Promise<Verdict> {
  try {
    return { kind: 'verified', session: await verifyArtifact(file, madeFrom) };
  } catch (error) {
    if (error instanceof QuaestorError) return { kind: 'refused', code: error.code, message: error.message };
    return { kind: 'refused', code: 'INTERNAL_ERROR', message: 'The artifact could not be verified for a reason inside the engine.' };
  }
}

const [file = '', source = '', recover] = process.argv.slice(2);
const verdict = await verdictOn(file, { file: source, recover: recover === 'true' });
process.send?.(verdict, () => process.disconnect());
