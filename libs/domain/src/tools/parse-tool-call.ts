import type { z } from 'zod';
import { TOOL_ARGUMENTS_BYTES_MAX, type ErrorCode, type ErrorResult, type ModelToolCall } from '#contracts';
import type { ToolSpec } from '../ports/tool.ts';
import { truncateChars } from '../text/sanitize.ts';
import { RESERVED_TOOL_NAMES } from './expand-capabilities.ts';
import { jsonShape } from './json-shape.ts';
import { oneLine } from './one-line.ts';

export type ParsedToolCall = { ok: true; spec: ToolSpec; args: unknown } | { ok: false; result: ErrorResult };

export const TOOL_ARGUMENTS_DEPTH_MAX = 32;
const NAME_CHARS_SHOWN = 64;
const ISSUES_SHOWN = 5;

type Refusal = { ok: false; result: ErrorResult };

/**
 * Finds the tool a model called among those it was offered and reads its arguments, strictly: names match exactly or not at all, and
 * broken JSON is never read as `{}`. A refusal is an error result for the model: `TOOL_UNKNOWN`, `TOOL_NOT_DECLARED` (a tool of the engine
 * that this assistant has not subscribed to) or `TOOL_ARGUMENTS_INVALID`. Never throws.
 */
export function parseToolCall(offered: readonly ToolSpec[], call: Pick<ModelToolCall, 'name' | 'arguments'>): ParsedToolCall {
  const spec = offered.find((tool) => tool.name === call.name);
  if (spec === undefined) return refuseName(offered, call.name);
  const read = readArguments(call.arguments);
  if (!read.ok) return refuseArguments(spec, read.problem);
  const parsed = spec.parameters.safeParse(read.value);
  return parsed.success ? { ok: true, spec, args: parsed.data } : refuseArguments(spec, describeIssues(parsed.error));
}

function refuseName(offered: readonly ToolSpec[], name: string): Refusal {
  if (RESERVED_TOOL_NAMES.has(name)) {
    return refuse('TOOL_NOT_DECLARED', `${name} is not available to this assistant; do not call it again.`);
  }
  const shownName = truncateChars(oneLine(name), NAME_CHARS_SHOWN);
  const names = offered.map((tool) => tool.name).join(', ') || 'none';
  return refuse('TOOL_UNKNOWN', `There is no tool named "${shownName}"; the available tools are: ${names}.`);
}

type ReadArguments = { ok: true; value: unknown } | { ok: false; problem: string };

function readArguments(text: string): ReadArguments {
  if (isLongerThan(text, TOOL_ARGUMENTS_BYTES_MAX)) return problem(`they are longer than ${TOOL_ARGUMENTS_BYTES_MAX} bytes`);
  if (text.trim() === '') return { ok: true, value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return problem('they are not valid JSON');
  }
  if (value === null) return { ok: true, value: {} };
  return typeof value === 'object' && !Array.isArray(value) ? checkObject(text, value) : problem(`they must be one JSON object, not ${kindOf(value)}`);
}

function checkObject(text: string, value: object): ReadArguments {
  const shape = jsonShape(text);
  if (shape.depth > TOOL_ARGUMENTS_DEPTH_MAX) return problem(`they are nested deeper than ${TOOL_ARGUMENTS_DEPTH_MAX} levels`);
  if (shape.hasPrototypeKey) return problem('they hold a forbidden member name (__proto__, constructor or prototype)');
  if (shape.duplicateKey !== null) return problem(`they name "${truncateChars(oneLine(shape.duplicateKey), NAME_CHARS_SHOWN)}" twice`);
  return { ok: true, value: withoutNulls(value) };
}

// Models write null for an optional value they leave out. A required one is then missing, and reported as such.
const withoutNulls = (value: object): object => Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));

const problem = (text: string): ReadArguments => ({ ok: false, problem: text });

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'string' ? 'a JSON text inside a string' : `a ${typeof value}`;
}

// A UTF-16 unit is one to three bytes of UTF-8: most texts are decided without encoding them.
function isLongerThan(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return true;
  return text.length * 3 > bytesMax && new TextEncoder().encode(text).length > bytesMax;
}

function describeIssues({ issues }: z.ZodError): string {
  const shown = issues.slice(0, ISSUES_SHOWN).map((issue) => {
    const path = issue.path.map(String).join('.');
    return path === '' || issue.message.startsWith(path) ? issue.message : `${path}: ${issue.message}`;
  });
  return truncateChars(oneLine(shown.join('; ')), 600);
}

function refuseArguments(spec: ToolSpec, reason: string): Refusal {
  return refuse('TOOL_ARGUMENTS_INVALID', `The arguments of ${spec.name} were not accepted: ${reason}.`);
}

const refuse = (code: ErrorCode, message: string): Refusal => ({ ok: false, result: { kind: 'error', code, message } });
