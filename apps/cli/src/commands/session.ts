import type { CommandContext } from '../context.ts';
import { migrateFile } from '../sessions/migrate-file.ts';

/** Publishes the version 2 successor of a version 1 artifact beside it and prints its path. Errors as `migrateFile`. */
export async function migrateSession({ terminal }: CommandContext, source: string): Promise<number> {
  const { file, events, messages, attempts, chunks } = await migrateFile(source);
  terminal.note(`${events} events, ${messages} answers and ${attempts} other attempts with ${chunks.split(' ')[0]} chunks, verified.`);
  await terminal.print(file);
  return 0;
}
