import { QuaestorError, type ModelChunk } from '#contracts';
import { ChunkTally, isObject, parseSessionHeader, refuseSession, SessionVerifier, type VerifiedSession } from '#domain';
import { readRows } from './artifact-rows.ts';

/** The version 1 file that an artifact was made from, and whether only its whole part was. */
export interface MadeFrom {
  file: string;
  recover: boolean;
}

/**
 * Reads a version 2 artifact from its file as a stranger would and holds it against everything that can be said of it. With the version 1
 * file it was made from, also that the streams of the one expand to the chunks of the other, none lost, doubled or changed.
 * @throws QuaestorError `SESSION_INVALID`, `NOT_FOUND`
 */
export async function verifyArtifact(file: string, madeFrom: MadeFrom | null): Promise<VerifiedSession> {
  let verifier: SessionVerifier | undefined;
  for await (const row of readRows(file)) {
    if (verifier) verifier.push(row);
    else verifier = new SessionVerifier(currentHeader(row));
  }
  if (!verifier) return refuseSession(1, 'is missing');
  const verified = verifier.finish();
  if (madeFrom !== null && verified.chunks !== (await chunksOf(madeFrom))) {
    throw new QuaestorError('SESSION_INVALID', 'The successor does not expand to the chunks of its source.');
  }
  return verified;
}

function currentHeader(row: unknown): ReturnType<typeof parseSessionHeader> {
  const header = parseSessionHeader(row);
  return header.version === 2 ? header : refuseSession(1, 'is the header of a version 1 artifact');
}

/** Counted from the rows themselves, by none of the code that migrates. */
async function chunksOf({ file, recover }: MadeFrom): Promise<string> {
  const tally = new ChunkTally();
  for await (const row of readRows(file, { recovered: recover ? () => undefined : undefined })) {
    if (!isObject(row) || row['type'] !== 'assistant/chunk' || !isObject(row['data'])) continue;
    const { turn, step, chunk } = row['data'];
    tally.add(turn as number, step as number, row['time'] as number, chunk as ModelChunk);
  }
  return tally.toString();
}
