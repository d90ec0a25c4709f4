import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextFormReader } from './text-form-reader.ts';
import type { TextForm, TextPiece } from './text-forms.ts';

const SCHEMA = { type: 'object', properties: { q: { type: 'string' }, page: { type: 'integer' } } };
const TOOLS = new Map([['find', SCHEMA], ['read_page', SCHEMA]]);
const ALL: readonly TextForm[] = ['think', 'hermes', 'qwen', 'kimi', 'deepseek', 'harmony', 'fenced', 'naked'];

interface Read {
  text: string;
  reasoning: string;
  calls: string[];
}

function readIn(pieces: readonly string[], forms: readonly TextForm[]): Read {
  const reader = new TextFormReader(forms, TOOLS);
  const all: TextPiece[] = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
  const joined = (kind: 'text' | 'reasoning'): string => all.map((piece) => (piece.kind === kind ? piece.text : '')).join('');
  return { text: joined('text'), reasoning: joined('reasoning'), calls: all.flatMap((piece) => (piece.kind === 'call' ? [`${piece.id}|${piece.name}|${piece.arguments}`] : [])) };
}

const SAFE = '{"q":"é ✓"}';
const kimi = (name: string): string => `<|tool_calls_section_begin|><|tool_call_begin|>functions.${name}:0<|tool_call_argument_begin|>${SAFE}<|tool_call_end|><|tool_call_begin|>functions.find:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`;

/** Form, what the model writes, and what is read. */
const CASES: readonly [TextForm, string, Read][] = [
  ['hermes', `I look.\n<tool_call>\n{"name": "find", "arguments": ${SAFE}}\n</tool_call>`, { text: 'I look.\n', reasoning: '', calls: [`|find|${SAFE}`] }],
  ['hermes', '<tool_call>{"name":"find","arguments":"{\\"q\\":1}"}</tool_call>\n<tool_call>{"name":"read_page"}</tool_call>', { text: '\n', reasoning: '', calls: ['|find|{"q":1}', '|read_page|'] }],
  ['qwen', 'I look.\n<tool_call>\n<function=find>\n<parameter=q>\n2026\n</parameter>\n<parameter=page>\n3\n</parameter>\n</function>\n</tool_call>', { text: 'I look.\n', reasoning: '', calls: ['|find|{"q":"2026","page":3}'] }],
  ['qwen', '<function=find><parameter=q>a <b> & "c"\nd</parameter></function>\n<tool_call>{"name":"read_page"}</tool_call>', { text: '\n', reasoning: '', calls: ['|find|{"q":"a <b> & \\"c\\"\\nd"}', '|read_page|'] }],
  ['qwen', '<tool_call><function=read_page></function></tool_call>', { text: '', reasoning: '', calls: ['|read_page|{}'] }],
  ['kimi', `So.${kimi('find')}`, { text: 'So.', reasoning: '', calls: [`functions.find:0|find|${SAFE}`, 'functions.find:1|find|{}'] }],
  ['deepseek', `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n\`\`\`json\n${SAFE}\n\`\`\`<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>find<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, { text: '', reasoning: '', calls: [`|find|${SAFE}`, '|find|{}'] }],
  ['harmony', `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>${SAFE}<|call|>`, { text: '', reasoning: 'Hm.', calls: [`|find|${SAFE}`] }],
  ['harmony', `<|start|>assistant to=functions.find<|channel|>commentary json<|message|>${SAFE}<|call|>`, { text: '', reasoning: '', calls: [`|find|${SAFE}`] }],
  ['harmony', '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>The report.', { text: 'The report.', reasoning: 'Hm.', calls: [] }],
  ['fenced', `Now:\n\`\`\`json\n{"name":"find","parameters":${SAFE}}\n\`\`\`\nDone.`, { text: 'Now:\n\nDone.', reasoning: '', calls: [`|find|${SAFE}`] }],
  ['naked', ` {"name":"find","arguments":${SAFE}}\n`, { text: ' ', reasoning: '', calls: [`|find|${SAFE}`] }],
  ['think', '\n<think>Let me < see </think >.</think>The answer.', { text: '\nThe answer.', reasoning: 'Let me < see </think >.', calls: [] }],
  ['think', '<think>never closed', { text: '', reasoning: 'never closed', calls: [] }],
];

/** Forms that a model of this form may write: newer Qwen models write as the older ones, too. */
const readsLike = (form: TextForm): TextForm[] => (form === 'qwen' || form === 'hermes' ? ['qwen', 'hermes'] : [form]);

/** What looks like a call and is none: it stays text, to the last character. */
const PROSE: readonly [string, string][] = [
  ['in the middle of a line', 'Models write `<tool_call>{"name":"find"}</tool_call>` then.'],
  ['in a code block', 'Example:\n```xml\n<tool_call>{"name":"find"}</tool_call>\n```\nSo.'],
  ['of the tokens in a code block', `Example:\n\`\`\`\n${kimi('find')}\n\`\`\`\n`],
  ['of an unknown tool', '<tool_call>{"name":"rm"}</tool_call>'],
  ['of an unknown tool beside a known one', kimi('rm')],
  ['cut', '<tool_call>{"name":"find","arguments":{"q'],
  ['without its end', '<tool_call>{"name":"find"}'],
  ['of an unknown function', '<function=rm><parameter=q>1</parameter></function>'],
  ['with a parameter twice', '<function=find><parameter=q>1</parameter><parameter=q>2</parameter></function>'],
  ['with a parameter that does not end', '<function=find><parameter=q>1</function>'],
  ['with a function that does not end', '<function=find><parameter=q>1</parameter>'],
  ['with a member twice', '<tool_call>{"name":"find","arguments":{"q":1,"q":2}}</tool_call>'],
  ['with arguments that are none', '<tool_call>{"name":"find","arguments":[1]}</tool_call>'],
  ['with half a section', '<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{}<|tool_calls_section_end|>'],
  ['to a channel that was cut', '<|channel|>commentary to=functions.find<|message|>{"q":1}'],
  ['as an example of JSON', 'Use this:\n```json\n{"name":"other"}\n```\n'],
  ['as a JSON answer', '{"name":"find","arguments":{}} is a call.'],
  ['as think tags after text', 'A <think>b</think> c'],
];

describe('calls written as text', () => {
  it.each(CASES)('[B11] %s: %j', (form, text, expected) => {
    expect(readIn([text], [form])).toEqual(expected);
  });

  it.each(CASES)('[B11] %s split at every place, and into single characters: %j', (form, text, expected) => {
    for (let cut = 0; cut <= text.length; cut++) expect(readIn([text.slice(0, cut), text.slice(cut)], [form])).toEqual(expected);
    expect(readIn([...text], [form])).toEqual(expected);
  });

  it.each(PROSE)('[L28] a call %s is text, whole or split', (_, text) => {
    const expected = { text, reasoning: '', calls: [] };
    for (let cut = 0; cut <= text.length; cut++) expect(readIn([text.slice(0, cut), text.slice(cut)], ALL)).toEqual(expected);
  });

  it.each(CASES)('[L28] the form %s is text for a model that is known for other forms: %j', (form, text) => {
    expect(readIn([text], []).text).toBe(text);
    expect(readIn([text], ALL.filter((other) => !readsLike(other).includes(form))).calls).toEqual([]);
  });

  it('[L28] any text is read the same however it is split, and nothing of it is lost without a call', () => {
    const marks = fc.constantFrom('<tool_call>', '</tool_call>', '<think>', '</think>', '<|channel|>', 'final', '<|message|>', '<|end|>', '<|call|>', '```json\n', '\n```', '\n', '{"name":"find"}', ' ', '<', '{', 'word');
    fc.assert(
      fc.property(fc.array(marks, { maxLength: 12 }), fc.array(fc.nat(200), { maxLength: 8 }), fc.subarray([...ALL]), (parts, cuts, forms) => {
        const text = parts.join('');
        const ends = [...new Set(cuts.filter((cut) => cut < text.length))].sort((left, right) => left - right);
        const pieces = [...ends, text.length].map((end, position) => text.slice(ends[position - 1] ?? 0, end));
        const whole = readIn([text], forms);
        expect(readIn(pieces, forms)).toEqual(whole);
        if (forms.length === 0) expect(whole).toEqual({ text, reasoning: '', calls: [] });
      }),
      { numRuns: 3_000 },
    );
  });

  it('[L26] a region that never ends is text after all', () => {
    const text = `<tool_call>${'x'.repeat(300_000)}`;
    expect(readIn([text.slice(0, 7), text.slice(7)], ALL).text).toBe(text);
  });
});
