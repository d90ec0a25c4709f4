import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ToolSpec } from '../ports/tool.ts';
import { expandCapabilities, offeredTools, RESERVED_TOOL_NAMES } from './expand-capabilities.ts';
import { jsonShape } from './json-shape.ts';
import { parseToolCall, TOOL_ARGUMENTS_DEPTH_MAX } from './parse-tool-call.ts';
import { toolDefinition } from './tool-definitions.ts';

const spec = (name: string, parameters: z.ZodType): ToolSpec => ({
  name,
  capability: 'scratchpad',
  roles: ['worker'],
  description: `About ${name}.`,
  parameters,
  effect: 'read',
  price: null,
  timeoutMs: 1,
  activity: 'note',
  announce: () => '',
  execute: () => Promise.resolve({ kind: 'deferred' }),
});

const none = spec('read_scratchpad', z.strictObject({}));
const note = spec('append_scratchpad', z.strictObject({ note: z.string('note is required').min(1, 'note must not be empty'), loud: z.boolean().optional() }));
const anything = spec('anything', z.looseObject({}));
const offered = [none, note, anything];
const parse = (name: string, args: string) => parseToolCall(offered, { name, arguments: args });
const refused = (code: string, part: string) => ({ ok: false, result: { kind: 'error', code, message: expect.stringContaining(part) } });

describe('names', () => {
  it.each(['creating:append_scratchpad', 'append_scratchpad<|channel|>', 'Append_Scratchpad', 'append_scratchpad ', '', 'a\u200bppend_scratchpad'])(
    '[L27] [B08] %j is unknown: names match exactly or not at all',
    (name) => expect(parse(name, '{"note":"n"}')).toMatchObject(refused('TOOL_UNKNOWN', 'no tool named')),
  );

  it('tells the model not to repeat a tool of the engine that it has not subscribed to', () => {
    expect(parse('delegate_research_task', '{}')).toMatchObject(refused('TOOL_NOT_DECLARED', 'do not call it again'));
  });

  it('shows a long name in part', () => {
    const parsed = parse('x'.repeat(10_000), '{}');
    expect(!parsed.ok && parsed.result.message.length).toBeLessThan(300);
  });
});

describe('arguments', () => {
  it.each(['', '  ', 'null', '{}'])('[L24] %j is {} where the schema accepts it', (args) => {
    expect(parse('read_scratchpad', args)).toEqual({ ok: true, spec: none, args: {} });
    expect(parse('append_scratchpad', args)).toMatchObject(refused('TOOL_ARGUMENTS_INVALID', 'note is required'));
  });

  it('are given to the tool as its schema reads them, null being a value left out', () => {
    expect(parse('append_scratchpad', '{"note":"n","loud":null}')).toEqual({ ok: true, spec: note, args: { note: 'n' } });
    expect(parse('append_scratchpad', '{"note":null}')).toMatchObject(refused('TOOL_ARGUMENTS_INVALID', 'note is required'));
  });

  it.each([
    ['{"note":"n"', 'not valid JSON'],
    ["{'note':'n'}", 'not valid JSON'],
    ['{"note":NaN}', 'not valid JSON'],
    ['{"note":"n"}{"note":"m"}', 'not valid JSON'],
    ['"{\\"note\\":\\"n\\"}"', 'inside a string'],
    ['[{"note":"n"}]', 'an array'],
    ['7', 'a number'],
    ['true', 'a boolean'],
    ['{"note":"n","note":"m"}', '"note" twice'],
    ['{"note":"n","n\\u006fte":"m"}', '"note" twice'],
    ['{"note":"n","__proto__":{"polluted":1}}', 'forbidden member name'],
    ['{"note":"n","\\u005f_proto__":{"polluted":1}}', 'forbidden member name'],
    ['{"a":[{"constructor":{"prototype":{}}}]}', 'forbidden member name'],
    ['{"note":"n","thread_id":"thr_1"}', 'thread_id'],
    ['{"note":5}', 'note is required'],
    ['{"note":""}', 'note must not be empty'],
  ])('[L25] [B10] %s is refused', (args, part) => {
    expect(parse('append_scratchpad', args)).toMatchObject(refused('TOOL_ARGUMENTS_INVALID', part));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('[L26] are refused unread above the byte bound, counted in UTF-8', () => {
    const parsed = parse('append_scratchpad', JSON.stringify({ note: 'é'.repeat(33_000) }));
    expect(parsed).toMatchObject(refused('TOOL_ARGUMENTS_INVALID', '65536 bytes'));
    expect(parse('append_scratchpad', JSON.stringify({ note: 'e'.repeat(33_000) })).ok).toBe(true);
    expect(parse('append_scratchpad', 'x'.repeat(50_000_000))).toMatchObject(refused('TOOL_ARGUMENTS_INVALID', '65536 bytes'));
  });

  it(`[L25] may nest ${TOOL_ARGUMENTS_DEPTH_MAX} levels and no more`, () => {
    const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect(parse('anything', nested(TOOL_ARGUMENTS_DEPTH_MAX)).ok).toBe(true);
    expect(parse('anything', nested(TOOL_ARGUMENTS_DEPTH_MAX + 1))).toMatchObject(refused('TOOL_ARGUMENTS_INVALID', 'nested deeper'));
    expect(parse('anything', nested(20_000))).toMatchObject(refused('TOOL_ARGUMENTS_INVALID', 'nested deeper'));
  });

  it('[Q-17] never make it throw', () => {
    fc.assert(fc.property(fc.string(), fc.oneof(fc.string(), fc.json()), (name, args) => void parse(name, args)));
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (args) => void parse('anything', args)));
  });
});

describe('jsonShape', () => {
  it('finds the depth and the member names of any JSON text', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const shape = jsonShape(JSON.stringify(value, null, 1));
        expect(shape.depth).toBe(depthOf(value));
        expect(shape.duplicateKey).toBeNull();
      }),
    );
  });

  it('does not take brackets, names or colons inside a text for structure', () => {
    expect(jsonShape('{"a":"[[\\"x\\":{","b":["__proto__"," : "]}')).toEqual({ depth: 2, duplicateKey: null, hasPrototypeKey: false });
  });

  it('is done with a text of nothing but quotes at once', () => {
    const started = performance.now();
    jsonShape(JSON.stringify({ a: '"\\'.repeat(20_000) }));
    expect(performance.now() - started).toBeLessThan(200);
  });
});

describe('capabilities', () => {
  it('expand in one order, each tool once, and fail closed for a role', () => {
    expect(expandCapabilities(['web_search', 'web_search'], 'worker')).toEqual(['read_web_page', 'search_web_page', 'scroll_web_page', 'perform_web_search']);
    expect(expandCapabilities(['web_search'], 'supervisor')).toEqual([]);
    expect(expandCapabilities(['delegation'], 'worker')).toEqual([]);
    expect(expandCapabilities(['scratchpad'], 'worker')).not.toContain('update_scratchpad');
    expect(expandCapabilities([], 'supervisor')).toEqual([]);
  });

  it('reserve eight names', () => expect(RESERVED_TOOL_NAMES.size).toBe(8));

  it('throw for a catalogue that lacks a tool', () => {
    expect(offeredTools(offered, ['scratchpad'], 'worker')).toEqual([none, note]);
    expect(() => offeredTools(offered, ['delegation'], 'supervisor')).toThrow('delegate_research_task');
  });
});

describe('toolDefinition', () => {
  it('is strict JSON Schema without a dialect, made once', () => {
    const definition = toolDefinition(note);
    expect(definition).toEqual({
      name: 'append_scratchpad',
      description: 'About append_scratchpad.',
      parameters: {
        type: 'object',
        properties: { note: { type: 'string', minLength: 1 }, loud: { type: 'boolean' } },
        required: ['note'],
        additionalProperties: false,
      },
    });
    expect(toolDefinition(note)).toBe(definition);
  });
});
