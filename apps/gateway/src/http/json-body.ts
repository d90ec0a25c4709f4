import { QuaestorError } from '#contracts';

/** Request bodies are flat; deeper nesting is an attack or a mistake. */
const DEPTH_MAX = 32;

const refusal = (message: string): QuaestorError => new QuaestorError('INVALID_REQUEST', message);

/**
 * Parses a request body; an empty one is undefined. Refuses what `JSON.parse` would let pass: nesting below 32 levels, and a member that is given twice, where it is
 * anybody's guess which one counts.
 * @throws QuaestorError `INVALID_REQUEST`
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refusal('The request body is not valid JSON.');
  }
  inspectStructure(text);
  return value;
}

/** One pass over text that is known to be JSON, so every string in it has its end. */
function inspectStructure(text: string): void {
  const members = new Set<string>();
  let depth = 0;
  let lastString = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      if (depth === 1) lastString = text.slice(at, end + 1);
      at = end;
    } else if (char === '{' || char === '[') {
      depth += 1;
      if (depth > DEPTH_MAX) throw refusal(`The request body is nested more than ${DEPTH_MAX} levels deep.`);
    } else if (char === '}' || char === ']') {
      depth -= 1;
    } else if (char === ':' && depth === 1) {
      addMember(members, lastString);
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function addMember(members: Set<string>, quotedName: string): void {
  const name = JSON.parse(quotedName) as string;
  if (members.has(name)) throw refusal('The request body gives the same member twice.');
  members.add(name);
}
