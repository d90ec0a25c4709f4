import { QuaestorError } from '#contracts';
import { CONFIGURATION_INVALID, configurationInvalid, configurationProblems, type Environment } from '#platform';
import type { z } from 'zod';

/**
 * The first process that reads a bad setting stops the start; this adds what the others would refuse after it. An error that is no list of
 * bad settings stays as it is. Pure apart from reading the environment.
 */
export function withAllProblems(error: QuaestorError, schemas: Readonly<Record<string, z.ZodObject>>, env?: Environment): QuaestorError {
  if (!error.message.includes(CONFIGURATION_INVALID)) return error;
  const problems = new Map<string, string>();
  for (const schema of Object.values(schemas)) {
    for (const line of configurationProblems(schema, env)) if (!problems.has(keyOf(line))) problems.set(keyOf(line), line);
  }
  return problems.size === 0 ? error : configurationInvalid([...problems.values()]);
}

const keyOf = (line: string): string => line.slice(0, line.indexOf(':'));
