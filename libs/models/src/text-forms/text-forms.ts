import { jsonShape } from '#domain';
import { isJsonObject } from '../wire/json-members.ts';

/** Ways in which models write calls or reasoning into their text. */
export type TextForm = 'think' | 'hermes' | 'qwen' | 'kimi' | 'deepseek' | 'harmony' | 'fenced' | 'naked';

export type TextPiece = { kind: 'text'; text: string } | { kind: 'reasoning'; text: string } | { kind: 'call'; id: string; name: string; arguments: string };

/** The tools that were offered: a map from name to JSON Schema of the parameters, or names alone. */
export interface OfferedTools {
  has(name: string): boolean;
  get?(name: string): unknown;
}

export interface RegionForm {
  opener: string;
  closers: readonly string[];
  /** Where the opener counts: anywhere, after nothing but blanks in its line, or after nothing but blanks at all. Never inside code blocks. */
  place: 'anywhere' | 'line start' | 'beginning';
  /** What the region says; undefined when it is text after all. `closer` is undefined at the end of the answer. */
  read(content: string, closer: string | undefined, tools: OfferedTools): TextPiece[] | undefined;
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A call written as `{"name": ..., "arguments": {...}}`. A member that stands there twice could mean either, so it is no call. */
const jsonCall = (text: string, tools: OfferedTools): TextPiece[] | undefined => {
  const value = parse(text);
  if (!isJsonObject(value) || jsonShape(text).duplicateKey !== null) return undefined;
  const { name, id, arguments: given = value['parameters'] } = value;
  if (typeof name !== 'string' || !tools.has(name)) return undefined;
  if (given !== undefined && typeof given !== 'string' && !isJsonObject(given)) return undefined;
  const args = given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
  return [{ kind: 'call', id: typeof id === 'string' ? id : '', name, arguments: args }];
};

/** All calls of a section, or undefined when anything in it is not read. */
const sectionCalls = (content: string, call: RegExp, read: (match: RegExpMatchArray) => TextPiece | undefined): TextPiece[] | undefined => {
  const pieces = [...content.matchAll(call)].map(read);
  const isWhole = pieces.length > 0 && content.replace(call, '').trim() === '';
  return isWhole && pieces.every((piece) => piece !== undefined) ? pieces : undefined;
};

const KIMI_CALL = /<\|tool_call_begin\|>\s*((?:functions\.)?([\w-]+)(?::\d+)?)\s*<\|tool_call_argument_begin\|>((?:(?!<\|tool_call)[^])*)<\|tool_call_end\|>/g;
const DEEPSEEK_CALL = /<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>([\w-]+)\s*```json\s*((?:(?!<｜tool)[^])*?)\s*```|([\w-]+)<｜tool▁sep｜>((?:(?!<｜tool)[^])*))\s*<｜tool▁call▁end｜>/g;
const HARMONY = /^(?:assistant)?([^<]*)(?:<\|channel\|>([^<]*))?(?:<\|constrain\|>[^<]*)?<\|message\|>([^]*)$/;

const readHarmony = (isAfterStart: boolean): RegionForm['read'] => (content, closer, tools) => {
  const match = HARMONY.exec(isAfterStart ? content : `<|channel|>${content}`);
  if (match === null) return undefined;
  const [, recipient = '', channel = '', body = ''] = match;
  const to = /\bto=(?:functions\.)?([\w-]+)/.exec(`${recipient} ${channel}`)?.[1];
  if (to !== undefined) return closer === '<|call|>' && tools.has(to) ? [{ kind: 'call', id: '', name: to, arguments: body.trim() }] : undefined;
  return [{ kind: channel.trim() === 'analysis' ? 'reasoning' : 'text', text: body }];
};

const QWEN_CALL = /^\s*<function=([\w-]+)>((?:(?!<\/?function)[^])*)<\/function>\s*$/;
const QWEN_PARAMETER = /<parameter=([\w-]+)>\n?((?:(?!<\/?parameter)[^])*?)\n?<\/parameter>/g;

/** Values are written as they are: what is no text by the tool's own schema is JSON. */
const typedValue = (schema: unknown, parameter: string, text: string): unknown => {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  const property = isJsonObject(properties) ? properties[parameter] : undefined;
  return !isJsonObject(property) || property['type'] === 'string' ? text : (parse(text) ?? text);
};

/** A call written as `<function=NAME><parameter=KEY>VALUE</parameter></function>`. */
const qwenCall = (content: string, tools: OfferedTools): TextPiece[] | undefined => {
  const [, name = '', body = ''] = QWEN_CALL.exec(content) ?? [];
  const parameters = [...body.matchAll(QWEN_PARAMETER)];
  const names = new Set(parameters.map(([, parameter]) => parameter));
  if (!tools.has(name) || body.replace(QWEN_PARAMETER, '').trim() !== '' || names.size < parameters.length) return undefined;
  const args = Object.fromEntries(parameters.map(([, parameter = '', text = '']) => [parameter, typedValue(tools.get?.(name), parameter, text)]));
  return [{ kind: 'call', id: '', name, arguments: JSON.stringify(args) }];
};

const HARMONY_CLOSERS = ['<|end|>', '<|call|>', '<|return|>'];

export const THINK: RegionForm = { opener: '<think>', closers: ['</think>'], place: 'beginning', read: (content) => (content === '' ? [] : [{ kind: 'reasoning', text: content }]) };

/** The whole answer is one JSON object: known only at its end. */
const NAKED: RegionForm = { opener: '{', closers: [], place: 'beginning', read: (content, _, tools) => jsonCall(`{${content}`, tools) };

const jsonIn = (opener: string, closer: string): RegionForm => ({
  opener,
  closers: [closer],
  place: 'line start',
  read: (content, end, tools) => (end === undefined ? undefined : jsonCall(content, tools)),
});

export const FORMS: Readonly<Record<TextForm, readonly RegionForm[]>> = {
  think: [THINK],
  hermes: [jsonIn('<tool_call>', '</tool_call>')],
  qwen: [
    { opener: '<tool_call>', closers: ['</tool_call>'], place: 'line start', read: (content, end, tools) => (end === undefined ? undefined : (jsonCall(content, tools) ?? qwenCall(content, tools))) },
    { opener: '<function=', closers: ['</function>'], place: 'line start', read: (content, end, tools) => (end === undefined ? undefined : qwenCall(`<function=${content}</function>`, tools)) },
  ],
  kimi: [
    {
      opener: '<|tool_calls_section_begin|>',
      closers: ['<|tool_calls_section_end|>'],
      place: 'anywhere',
      read: (content, closer, tools) =>
        closer === undefined ? undefined : sectionCalls(content, KIMI_CALL, ([, id = '', name = '', args = '']) => (tools.has(name) ? { kind: 'call', id, name, arguments: args.trim() } : undefined)),
    },
  ],
  deepseek: [
    {
      opener: '<｜tool▁calls▁begin｜>',
      closers: ['<｜tool▁calls▁end｜>'],
      place: 'anywhere',
      read: (content, closer, tools) =>
        closer === undefined
          ? undefined
          : sectionCalls(content, DEEPSEEK_CALL, ([, oldName, oldArgs, newName, newArgs]) => {
              const name = oldName ?? newName ?? '';
              return tools.has(name) ? { kind: 'call', id: '', name, arguments: (oldArgs ?? newArgs ?? '').trim() } : undefined;
            }),
    },
  ],
  harmony: [
    { opener: '<|channel|>', closers: HARMONY_CLOSERS, place: 'anywhere', read: readHarmony(false) },
    { opener: '<|start|>', closers: HARMONY_CLOSERS, place: 'anywhere', read: readHarmony(true) },
  ],
  fenced: [jsonIn('```json\n', '\n```'), jsonIn('```tool_call\n', '\n```')],
  naked: [NAKED],
};
