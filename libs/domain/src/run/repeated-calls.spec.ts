import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolResult } from '#contracts';
import { canonicalUrl } from '../web/canonical-url.ts';
import type { ToolPorts, ToolSpec } from '../ports/tool.ts';
import { callIdentity, RepeatedCalls } from './repeated-calls.ts';

const tool = (given: Partial<ToolSpec>): ToolSpec => ({ name: 'tool', effect: 'read', price: 'read', ...given }) as ToolSpec;
const ports = { pages: { canonicalUrl } } as unknown as ToolPorts;
const found: ToolResult = { kind: 'text', text: 'found' };
const error = (code: string): ToolResult => ({ kind: 'error', code, message: 'no' });

/** The same call in so many answers, each ending with `result`. */
function made(spec: ToolSpec, results: ToolResult[], args: unknown = {}): string[] {
  const repeats = new RepeatedCalls();
  const identity = callIdentity(spec, args, ports);
  return results.map((result, index) => {
    const { kind } = repeats.judge({ identity, turn: index + 1, spec, args });
    if (kind === 'execute') repeats.keep(identity, result);
    return kind;
  });
}

describe('the same call again', () => {
  it('is answered from the record, then warned of, then ends the run', () => {
    expect(made(tool({}), Array(5).fill(found))).toEqual(['execute', 'answer', 'warn', 'stop', 'stop']);
  });

  it.each([
    ['a failure that may pass', tool({}), error('PAGE_FETCH_FAILED'), 'execute'],
    ['a failure that will not pass', tool({}), error('PAGE_UNREADABLE'), 'answer'],
    ['a call that could not be paid', tool({}), error('BUDGET_EXHAUSTED'), 'execute'],
    ['a task that failed', tool({ effect: 'delegate', price: null }), error('DELEGATION_FAILED'), 'execute'],
    ['a task that was done', tool({ effect: 'delegate', price: null }), found, 'answer'],
    ['a note that stands there', tool({ effect: 'scratchpad-write', price: null }), found, 'duplicate'],
    ['what may differ', tool({ mayDiffer: () => true }), found, 'execute'],
  ])('%s: the second time', (_what, spec, result, expected) => {
    expect(made(spec, [result, result])[1]).toBe(expected);
  });

  it('is one repeat in one answer, however often it stands there', () => {
    const repeats = new RepeatedCalls();
    const judge = (turn: number) => repeats.judge({ identity: 'x', turn, spec: tool({}), args: {} }).kind;
    expect([judge(1), judge(1), judge(1), judge(1), judge(1)]).toEqual(['execute', 'duplicate', 'duplicate', 'duplicate', 'duplicate']);
    expect(repeats.isLoop).toBe(false);
  });

  it('at the scratchpad is a repeat only while nothing else happens', () => {
    const repeats = new RepeatedCalls();
    const look = tool({ name: 'look', effect: 'scratchpad-read', price: null, mayDiffer: () => true });
    const judge = (turn: number, spec: ToolSpec, identity: string) => repeats.judge({ identity, turn, spec, args: {} }).kind;
    const kinds = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? judge(index + 1, look, 'look') : judge(index + 1, tool({}), `other ${index}`)));
    expect(new Set(kinds)).toEqual(new Set(['execute']));
    expect([11, 12, 13, 14].map((turn) => judge(turn, look, 'look'))).toEqual(['execute', 'execute', 'warn', 'stop']);
  });

  it('of an earlier run is answered from the record, and no repeat', () => {
    const repeats = new RepeatedCalls();
    repeats.inherit('x', found);
    const judge = (turn: number) => repeats.judge({ identity: 'x', turn, spec: tool({}), args: {} }).kind;
    expect([judge(1), judge(2), judge(3), judge(4)]).toEqual(['answer', 'answer', 'warn', 'stop']);
  });
});

it('sixty different calls are no loop', () => {
  const repeats = new RepeatedCalls();
  const spec = tool({ name: 'search' });
  const kinds = Array.from({ length: 60 }, (_, turn) => repeats.judge({ identity: callIdentity(spec, { query: `q${turn}` }, ports), turn, spec, args: {} }).kind);
  expect([new Set(kinds), repeats.isLoop]).toEqual([new Set(['execute']), false]);
});

it('two calls are the same whatever the order of their members, and differ with any value', () => {
  const value = fc.jsonValue({ maxDepth: 2 });
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value), (args) => callIdentity(tool({}), Object.fromEntries(Object.entries(args).reverse()), ports) === callIdentity(tool({}), args, ports)),
  );
  expect(callIdentity(tool({}), { a: 1 }, ports)).not.toBe(callIdentity(tool({}), { a: '1' }, ports));
  expect(callIdentity(tool({}), { a: [1, 2] }, ports)).not.toBe(callIdentity(tool({}), { a: [2, 1] }, ports));
});
