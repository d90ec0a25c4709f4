import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const ProcessIdentitySchema = z.object({ pid: z.number().int().positive(), startedAt: z.string() });

const RunningService = z.discriminatedUnion('via', [
  z.object({ via: z.literal('process'), process: ProcessIdentitySchema, port: z.number().int() }),
  z.object({ via: z.literal('container'), container: z.string(), port: z.number().int() }),
]);
export type RunningService = z.infer<typeof RunningService>;

export const SERVICE_NAMES = ['redis', 'database'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** `services.json`: what runs, its secrets, and which processes use it. Readable by its owner only. */
const ServicesState = z.object({
  version: z.literal(1),
  redis: RunningService.nullable(),
  database: RunningService.nullable(),
  passwords: z.object({ redis: z.string().min(1), database: z.string().min(1) }),
  /** Ports of the last start, taken again when they are free, so that addresses stay what they were. */
  ports: z.object({ redis: z.number().int(), database: z.number().int() }).partial(),
  /** Living processes that use the services; the last one to leave stops them. */
  users: z.array(ProcessIdentitySchema),
  /** Asked to stay up without users (`quaestor services start`). */
  kept: z.boolean(),
});
export type ServicesState = z.infer<typeof ServicesState>;

const stateFile = (directory: string): string => path.join(directory, 'services.json');

/** A state that cannot be read is as good as none: passwords are set again at the next start. */
export async function readState(directory: string): Promise<ServicesState> {
  try {
    return ServicesState.parse(JSON.parse(await readFile(stateFile(directory), 'utf8')));
  } catch {
    return { version: 1, redis: null, database: null, passwords: { redis: newPassword(), database: newPassword() }, ports: {}, users: [], kept: false };
  }
}

export async function writeState(directory: string, state: ServicesState): Promise<void> {
  const temporary = `${stateFile(directory)}.${process.pid}`;
  await rm(temporary, { force: true });
  await writeFile(temporary, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, stateFile(directory));
}

const newPassword = (): string => randomBytes(24).toString('base64url');
