export interface JsonShape {
  /** Nesting of arrays and objects; a scalar has 0. */
  depth: number;
  /** The first member name that stands twice in one object, which `JSON.parse` would hide by keeping the last; null when there is none. */
  duplicateKey: string | null;
  /** True when any object, at any depth, names `__proto__`, `constructor` or `prototype`. */
  hasPrototypeKey: boolean;
}

const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
// A string with an optional colon after it (then it is a member name), or one bracket. Strings are whole tokens, so no bracket in a text counts.
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/g;

/** What `JSON.parse` does not tell about a text. `json` must be valid JSON; one pass, no recursion. */
export function jsonShape(json: string): JsonShape {
  const shape: JsonShape = { depth: 0, duplicateKey: null, hasPrototypeKey: false };
  const open: Set<string>[] = [];
  for (const [token, colon] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') shape.depth = Math.max(shape.depth, open.push(new Set()));
    else if (token === '}' || token === ']') open.pop();
    else if (colon !== undefined) noteKey(JSON.parse(token.slice(0, -colon.length)) as string, open.at(-1), shape);
  }
  return shape;
}

function noteKey(key: string, seen: Set<string> | undefined, shape: JsonShape): void {
  if (seen?.has(key) === true) shape.duplicateKey ??= key;
  seen?.add(key);
  if (PROTOTYPE_KEYS.has(key)) shape.hasPrototypeKey = true;
}
