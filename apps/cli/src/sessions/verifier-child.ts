import { QuaestorError } from '#contracts';
import { verifyArtifact } from './verify-artifact.ts';
import type { Verdict } from './verifier-process.ts';

async function verdictOn(file: string, madeFrom: string | null): Promise<Verdict> {
  try {
    return { kind: 'verified', session: await verifyArtifact(file, madeFrom) };
  } catch (error) {
    if (error instanceof QuaestorError) return { kind: 'refused', code: error.code, message: error.message };
    return { kind: 'refused', code: 'INTERNAL_ERROR', message: 'The artifact could not be verified for a reason inside the engine.' };
  }
}

const [file = '', madeFrom = null] = process.argv.slice(2);
const verdict = await verdictOn(file, madeFrom);
process.send?.(verdict, () => process.disconnect());
