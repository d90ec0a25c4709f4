import type { ModelChunk, StreamBlock } from '#contracts';
import { estimateTokens, type ModelRequest } from '#domain';
import type { Step } from './step.ts';

/** Characters of a text or JSON piece, cut behind a space where there is one. */
export interface EmitOptions {
  pieceChars: number;
  turn: number;
}

type Block = { block: Exclude<StreamBlock, { type: 'reasoning' }>; text: string };

/** Delivers a step as a model would stream it. Stops before the next chunk once `signal` is aborted, by throwing its reason. */
export function emitStep(step: Step, request: ModelRequest, options: EmitOptions, onChunk: (chunk: ModelChunk) => void, signal: AbortSignal): void {
  const send = (chunk: ModelChunk): void => {
    signal.throwIfAborted();
    onChunk(chunk);
  };
  const blocks = blocksOf(step, request, options.turn);
  blocks.forEach((block, index) => sendBlock(block, index, options.pieceChars, send));
  send({ type: 'usage', usage: { inputTokens: inputTokens(request), outputTokens: outputTokens(blocks), estimated: true } });
  send({ type: 'finish', reason: { kind: finishOf(step, blocks) } });
}

function blocksOf(step: Step, request: ModelRequest, turn: number): Block[] {
  if (step.kind === 'answer') {
    const text = withinTokens(step.text, request.maxOutputTokens);
    return [{ block: { type: 'text', text }, text }];
  }
  return step.calls.map((call, index) => {
    const text = JSON.stringify(call.arguments);
    return { block: { type: 'tool-call', id: `extractive-${turn}-${index}`, name: call.name, arguments: text }, text };
  });
}

function sendBlock({ block, text }: Block, index: number, pieceChars: number, send: (chunk: ModelChunk) => void): void {
  send({ type: 'block-start', index, blockType: block.type });
  pieces(text, pieceChars).forEach((piece, at) => {
    if (block.type === 'text') send({ type: 'text-delta', index, text: piece });
    else send({ type: 'tool-call-delta', index, id: block.id, ...(at === 0 ? { name: block.name } : {}), argumentsDelta: piece });
  });
  send({ type: 'block-end', index, block });
}

/** Pieces of about `chars` characters whose concatenation is the text; no surrogate pair is cut. */
export function pieces(text: string, chars: number): string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + chars);
    const space = end < text.length ? text.lastIndexOf(' ', end - 1) : -1;
    if (space > start) end = space + 1;
    else if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end += 1;
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}

function finishOf(step: Step, blocks: readonly Block[]): 'stop' | 'tool-calls' | 'max-tokens' {
  if (step.kind === 'calls') return 'tool-calls';
  return blocks[0]?.text === step.text ? 'stop' : 'max-tokens';
}

/** What a bounded model would have written by then. Every token is at least one character, which bounds the search. */
function withinTokens(text: string, tokensMax: number): string {
  if (estimateTokens(text) <= tokensMax) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateTokens(text.slice(0, middle)) <= tokensMax) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low).replace(/[\ud800-\udbff]$/, '');
}

function inputTokens({ messages, tools }: ModelRequest): number {
  const said = messages.reduce((total, message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    const called = calls.reduce((sum, call) => sum + estimateTokens(call.name) + estimateTokens(call.arguments), 0);
    return total + estimateTokens(message.content) + called;
  }, 0);
  return said + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));
}

function outputTokens(blocks: readonly Block[]): number {
  return blocks.reduce((total, { block, text }) => total + estimateTokens(text) + (block.type === 'tool-call' ? estimateTokens(block.name) : 0), 0);
}
