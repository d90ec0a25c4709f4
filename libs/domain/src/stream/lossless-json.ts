/** Deeper values are refused: they could not be read back by ordinary JSON tools. */
const DEPTH_MAX = 500;

const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

const refuse = (what: string): never => {
  throw new TypeError(`${what} cannot be kept as JSON without loss`);
};

const copyArray = (value: readonly unknown[], depth: number): unknown[] => {
  const copy: unknown[] = [];
  for (let position = 0; position < value.length; position++) copy.push(snapshot(value[position], depth + 1));
  return copy;
};

const copyObject = (value: object, depth: number): object => {
  if (!isPlainObject(value)) refuse('an object with its own class');
  if (Object.getOwnPropertySymbols(value).length > 0) refuse('a member with a symbol name');
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const kept = snapshot(member, depth + 1);
    // Assigning `__proto__` would change the prototype instead of adding a member.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: kept, enumerable: true });
    else copy[key] = kept;
  }
  return copy;
};

const snapshot = (value: unknown, depth: number): unknown => {
  if (depth > DEPTH_MAX) refuse(`a value nested deeper than ${DEPTH_MAX} levels`);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? value : refuse(`the number ${Object.is(value, -0) ? '-0' : value}`);
  if (typeof value !== 'object') return refuse(`a member of type ${typeof value}`);
  return Object.freeze(Array.isArray(value) ? copyArray(value, depth) : copyObject(value, depth));
};

/**
 * A deep-frozen copy that shares nothing with `value`. Throws `TypeError` for whatever JSON would lose or change: undefined members,
 * holes, functions, symbols, bigints, NaN, infinities, -0, class instances, cycles (by depth).
 */
export function freezeLosslessJson<Value>(value: Value): Value {
  return snapshot(value, 0) as Value;
}
