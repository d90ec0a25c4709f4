import path from 'node:path';
import { z } from 'zod';
import { PROJECT_ROOT } from '../project-root.ts';

/** One environment variable as one or more services read it. */
export interface Variable {
  name: string;
  meaning: string;
  /** Unit or form of the value, with its bounds. */
  unit: string;
  /** As the schema has it, or in words; `unset` or `required` when there is none. */
  fallback: string;
  services: string[];
}

interface JsonField {
  description?: string;
  default?: unknown;
  type?: string;
  enum?: unknown[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
}

const UNITS: readonly [RegExp, string][] = [
  [/_MS$/, 'milliseconds'],
  [/_BYTES(?:_MAX)?$/, 'bytes'],
  [/TOKENS(?:_MAX)?$/, 'tokens'],
  [/_CHARS(?:_MAX)?$/, 'characters'],
  [/_TURNS$/, 'turns'],
  [/_PORT$/, 'port'],
  [/_URL$/, 'address'],
  [/_(?:DIR|DIRECTORY)$/, 'folder'],
];
/** A description ends in its default; here that has a column of its own. */
const STATED_DEFAULT = /[\s;,.]+(?:default:?\s+(.+?)|no default)\.?$/i;

/** Every variable of the schemas by name; one that services read with different meanings has a row for each meaning. */
export function listVariables(schemas: Readonly<Record<string, z.ZodObject>>): Variable[] {
  const rows = new Map<string, Variable>();
  for (const [service, schema] of Object.entries(schemas)) {
    for (const variable of variablesOf(schema)) {
      const key = JSON.stringify(variable);
      const row = rows.get(key) ?? { ...variable, services: [] };
      row.services.push(service);
      rows.set(key, row);
    }
  }
  return [...rows.values()].sort((left, right) => compare(left.name, right.name));
}

function variablesOf(schema: z.ZodObject): Omit<Variable, 'services'>[] {
  return Object.entries(schema.shape).map(([name, type]) => {
    const field = z.toJSONSchema(type as z.ZodType, { io: 'input', unrepresentable: 'any' }) as JsonField;
    const description = field.description ?? '';
    const stated = STATED_DEFAULT.exec(description);
    const meaning = meaningOf(stated === null ? description : description.slice(0, stated.index), field);
    return { name, meaning, unit: unitOf(name, type as z.ZodType, field), fallback: fallbackOf(type as z.ZodType, field, stated?.[1]) };
  });
}

/** The description without what has a column of its own. An address keeps its first letter. */
function meaningOf(description: string, { enum: allowed, maximum }: JsonField): string {
  const withoutValues = allowed === undefined ? description : description.replace(`: ${allowed.join(', ')}`, '');
  const withoutBounds = maximum === undefined ? withoutValues : withoutValues.replace(/, \d+ to \d+/, '').replace(/, (?:in )?(?:milliseconds|tokens)\b/, '');
  const meaning = withoutBounds.replace(/\.$/, '');
  return /^\w+:\/\//.test(meaning) ? meaning : meaning.charAt(0).toUpperCase() + meaning.slice(1);
}

function unitOf(name: string, type: z.ZodType, field: JsonField): string {
  if (field.enum !== undefined) return field.enum.join(', ');
  if (type.safeParse('true').data === true) return 'true or false';
  const isNumber = field.type === 'integer' || field.type === 'number';
  const unit = UNITS.find(([ending]) => ending.test(name))?.[1] ?? (isNumber ? 'number' : 'text');
  if (!isNumber || field.maximum === undefined) return unit;
  const least = field.minimum ?? (field.exclusiveMinimum === undefined ? undefined : field.exclusiveMinimum + 1);
  return `${unit}, ${least === undefined ? 'up' : least} to ${field.maximum}`;
}

function fallbackOf(type: z.ZodType, { default: given }: JsonField, stated: string | undefined): string {
  const isStated = stated !== undefined && !/^(?:none|unset)$/.test(stated);
  if (given === undefined || given === '') return isStated ? stated : type.safeParse(undefined).success ? 'unset' : 'required';
  const isBelowProject = typeof given === 'string' && given.startsWith(PROJECT_ROOT + path.sep);
  return isBelowProject ? path.relative(PROJECT_ROOT, given) : String(given);
}

const compare = (left: string, right: string): number => (left < right ? -1 : Number(left > right));
