import { QuaestorError } from '#contracts';
import type { z } from 'zod';

/** A process environment as Node gives it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** This process's own environment, for handing on to child processes. Settings are read with `loadConfig`. */
export const environment = (): Environment => process.env;

/**
 * Every variable with the `QUAESTOR_` prefix that some process reads. A key with that prefix that stands neither here nor in the schema is
 * a typing mistake and is refused; other unknown variables belong to somebody else and are ignored.
 */
export const QUAESTOR_VARIABLES = ['QUAESTOR_URL', 'QUAESTOR_API_KEY', 'QUAESTOR_DIRECTORY', 'QUAESTOR_REEXEC'] as const;

/** First line of a refusal that lists bad settings. */
export const CONFIGURATION_INVALID = 'The configuration is not valid:';

const OWN_PREFIX = 'QUAESTOR_';
const SECRET_NAME = /KEY|SECRET|PASSWORD|TOKEN|URL|DSN|AUTH|HEADER|COOKIE|_MODEL$|FALLBACKS/;
const SHOWN_VALUE_CHARS_MAX = 60;

/**
 * Reads configuration: the keys of `schema` are environment variable names. An empty string counts as unset. Safe to repeat.
 * @returns the parsed values, defaults filled in.
 * @throws QuaestorError `CONFIG_INVALID` with one line for every bad key: its name, what is wrong, what is allowed. Values of variables
 * that may hold a secret are never shown.
 */
export function loadConfig<Schema extends z.ZodObject>(schema: Schema, env: Environment = process.env): z.infer<Schema> {
  const { parsed, problems } = check(schema, env);
  if (parsed.success && problems.length === 0) return parsed.data;
  throw configurationInvalid(problems.map(({ line }) => line));
}

/** What is wrong with the variables that are set, one line for each bad key; one that is not set is no problem here. Safe to repeat. */
export const configurationProblems = (schema: z.ZodObject, env: Environment = process.env): string[] => check(schema, env).problems.filter(({ isUnset }) => !isUnset).map(({ line }) => line);

/** The error of `loadConfig` for these lines. */
export const configurationInvalid = (problems: readonly string[]): QuaestorError =>
  new QuaestorError('CONFIG_INVALID', `${CONFIGURATION_INVALID}\n${problems.map((line) => `  ${line}`).join('\n')}`, { details: { problems: problems.length } });

interface Problem {
  line: string;
  isUnset: boolean;
}

function check<Schema extends z.ZodObject>(schema: Schema, env: Environment): { parsed: z.ZodSafeParseResult<z.infer<Schema>>; problems: Problem[] } {
  const known = Object.keys(schema.shape);
  const input: Record<string, string> = {};
  for (const key of known) if (env[key]) input[key] = env[key];
  const parsed = schema.safeParse(input);
  const misspelt = misspeltKeys(env, known).map((line) => ({ line, isUnset: false }));
  const refused = (parsed.error?.issues ?? []).map((issue) => ({ line: describeIssue(schema, issue, input), isUnset: input[String(issue.path[0])] === undefined }));
  return { parsed, problems: [...misspelt, ...refused] };
}

function misspeltKeys(env: Environment, known: readonly string[]): string[] {
  const allowed = new Set<string>([...known, ...QUAESTOR_VARIABLES]);
  return Object.keys(env)
    .filter((key) => key.startsWith(OWN_PREFIX) && env[key] && !allowed.has(key))
    .map((key) => `${key}: no such setting; known are ${[...allowed].filter((name) => name.startsWith(OWN_PREFIX)).join(', ')}.`);
}

function describeIssue(schema: z.ZodObject, issue: z.core.$ZodIssue, input: Readonly<Record<string, string>>): string {
  const key = typeof issue.path[0] === 'string' ? issue.path[0] : undefined;
  if (key === undefined) return `${issue.message}.`;
  const field = schema.shape[key] as z.ZodType | undefined;
  const allowed = field?.description ? ` Allowed: ${field.description}` : '';
  const value = input[key];
  if (value === undefined) return `${key}: is not set.${allowed}`;
  return `${key}: ${issue.message}${shownValue(key, value)}.${allowed}`;
}

function shownValue(key: string, value: string): string {
  if (SECRET_NAME.test(key)) return '';
  return ` (it is ${JSON.stringify(value.slice(0, SHOWN_VALUE_CHARS_MAX))})`;
}
