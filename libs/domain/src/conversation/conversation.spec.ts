import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelMessage, ModelToolCall, ToolCallId } from '#contracts';
import { correlateTools } from './correlate-tools.ts';
import { groupMessages } from './group-messages.ts';
import { cutPosition, historyFrom, nextCut } from './truncate.ts';

const callId = (number: number): ToolCallId => `call_${number}` as ToolCallId;
const toolCall = (number: number): ModelToolCall => ({ toolCallId: callId(number), providerCallId: null, name: 't', arguments: '{}' });
const system: ModelMessage = { role: 'system', content: 'rules' };
const user = (content = 'question'): ModelMessage => ({ role: 'user', content });
const text = (content = 'prose'): ModelMessage => ({ role: 'assistant', content });
const calls = (...numbers: number[]): ModelMessage => ({ role: 'assistant', content: '', toolCalls: numbers.map(toolCall) });
const result = (number: number, content = 'result'): ModelMessage => ({
  role: 'tool', toolCallId: callId(number), providerCallId: null, name: 't', content, isError: false,
});

/** Valid histories: system, question, then turns of prose or of up to four calls answered in any order; the last turn may be open. */
const history = (lastOpen: fc.Arbitrary<number>) =>
  fc
    .tuple(fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 4 })), { maxLength: 12 }), lastOpen, fc.infiniteStream(fc.nat()))
    .map(([turns, open, dice]) => {
      const messages: ModelMessage[] = [system, user()];
      let number = 0;
      const next = (): number => dice.next().value as number;
      for (const count of turns) {
        const numbers = Array.from({ length: count }, () => ++number);
        if (count === 0) messages.push(next() % 3 === 0 ? user(`more ${next()}`) : text(`t${next()}`));
        else messages.push(calls(...numbers), ...numbers.toSorted(() => (next() % 2) - 0.5).map((id) => result(id, 'r'.repeat(next() % 30))));
      }
      const numbers = Array.from({ length: open }, () => ++number);
      if (open > 0) messages.push(calls(...numbers), ...numbers.slice(1).map((id) => result(id)));
      return messages;
    });

const estimateTokens = (message: ModelMessage): number => message.content.length + 1;
const cut = (messages: ModelMessage[], budgetTokens: number) => historyFrom(messages, cutPosition(messages, { budgetTokens, estimateTokens }));
const total = (messages: ModelMessage[]) => messages.reduce((sum, message) => sum + estimateTokens(message), 0);

describe('groupMessages', () => {
  it('[Q-11] keeps calls and their results together, in any order of results', () => {
    const messages = [system, user(), calls(1, 2), result(2), result(1), text(), calls(3), result(3)];
    expect(groupMessages(messages).map((group) => group.messages.length)).toEqual([1, 1, 3, 1, 2]);
  });

  it('counts open calls, and leaves a stray or second result alone', () => {
    expect(groupMessages([calls(1, 2), result(1)])).toMatchObject([{ openCalls: 1 }]);
    expect(groupMessages([calls(1), result(1), result(1), result(9)]).map((group) => group.messages.length)).toEqual([2, 1, 1]);
  });

  it('put together are the history', () => {
    fc.assert(
      fc.property(history(fc.nat(3)), (messages) => {
        expect(groupMessages(messages).flatMap((group) => group.messages)).toEqual(messages);
      }),
    );
  });
});

describe('correlateTools', () => {
  it.each<[string, ModelMessage[], string]>([
    ['a call without a result', [calls(1, 2), result(1)], 'call_2 has no result'],
    ['a call answered only after another message', [calls(1), text(), result(1)], 'call_1 has no result'],
    ['a result without a call', [user(), result(1)], 'call_1 has a result but no call'],
    ['a result before its call', [result(1), calls(1)], 'call_1 has a result but no call'],
    ['a second result', [calls(1), result(1), result(1)], 'call_1 has a second result'],
    ['a result that comes a turn late', [calls(1), result(1), calls(2), result(1)], 'call_1 has a second result'],
    ['one call id twice in a message', [calls(1, 1), result(1)], 'call_1 was made twice'],
    ['one call id in two turns', [calls(1), result(1), calls(1), result(1)], 'call_1 was made twice'],
  ])('[Q-01] refuses %s', (_name, messages, part) => {
    expect(() => correlateTools(messages)).toThrow(expect.objectContaining({ code: 'JOURNAL_INVALID', message: expect.stringContaining(part) }));
  });

  it('accepts every valid history', () => {
    fc.assert(fc.property(history(fc.constant(0)), (messages) => correlateTools(messages)));
  });

  it('refuses every history from which one call message or result was lost', () => {
    fc.assert(
      fc.property(history(fc.constant(0)), fc.nat(), (messages, pick) => {
        const linked = messages.flatMap((message, index) => (message.role === 'tool' || (message.role === 'assistant' && message.toolCalls) ? [index] : []));
        fc.pre(linked.length > 0);
        const lost = linked[pick % linked.length];
        expect(() => correlateTools(messages.filter((_, index) => index !== lost))).toThrow();
      }),
    );
  });
});

describe('cutPosition', () => {
  it('[Q-11] leaves a valid history whatever the budget', () => {
    fc.assert(fc.property(history(fc.constant(0)), fc.integer({ min: -5, max: 300 }), (messages, budget) => correlateTools(cut(messages, budget))));
  });

  it('keeps the system message, the question and open calls, whatever the budget', () => {
    fc.assert(
      fc.property(history(fc.nat(3)), fc.integer({ min: -5, max: 300 }), (messages, budget) => {
        const kept = cut(messages, budget);
        expect(kept.slice(0, 2)).toEqual([system, user()]);
        for (const group of groupMessages(messages)) if (group.openCalls > 0) expect(kept).toEqual(expect.arrayContaining(group.messages));
      }),
    );
  });

  it('is within the budget unless the protected messages alone exceed it, and cuts nothing that fits', () => {
    fc.assert(
      fc.property(history(fc.nat(3)), fc.integer({ min: -5, max: 300 }), (messages, budget) => {
        const kept = cut(messages, budget);
        expect(total(kept)).toBeLessThanOrEqual(Math.max(budget, total(cut(messages, 0))));
        if (total(messages) <= budget) expect(kept).toEqual(messages);
      }),
    );
  });

  it('keeps order and identity of messages', () => {
    fc.assert(
      fc.property(history(fc.nat(3)), fc.integer({ min: 0, max: 300 }), (messages, budget) => {
        const positions = cut(messages, budget).map((message) => messages.indexOf(message));
        expect(positions).not.toContain(-1);
        expect(positions).toEqual(positions.toSorted((left, right) => left - right));
      }),
    );
  });

  it('leaves only what is protected at a budget of zero or less', () => {
    const messages = [system, user(), text(), user('next'), calls(1), result(1), user('last'), text(), calls(2)];
    expect(cut(messages, 0)).toEqual([system, user(), user('last'), calls(2)]);
    expect(cut(messages, -1)).toEqual([system, user(), user('last'), calls(2)]);
  });

  it('cuts oldest first and leaves no hole behind a group that did not fit', () => {
    const big = result(2, 'x'.repeat(100));
    const messages = [system, user(), calls(1), result(1), calls(2), big, calls(3), result(3)];
    expect(cut(messages, 60)).toEqual([system, user(), calls(3), result(3)]);
  });
});

/** The prompts of a history that grows group by group, and where each was cut. */
function growing(sizes: readonly number[], tokensMax: number): { sent: ModelMessage[]; cut: number; newest: ModelMessage[] }[] {
  const messages: ModelMessage[] = [system, user()];
  let cutNow = 0;
  return sizes.map((size, index) => {
    const newest = [calls(index), result(index, 'r'.repeat(size))];
    messages.push(...newest);
    cutNow = nextCut({ messages, cut: cutNow, tokens: total(historyFrom(messages, cutNow)), tokensMax, estimateTokens });
    return { sent: historyFrom(messages, cutNow), cut: cutNow, newest };
  });
}

const growth = fc.tuple(fc.array(fc.nat(80), { maxLength: 40 }), fc.integer({ min: -5, max: 400 }));
const PROTECTED = total([system, user()]);

describe('nextCut', () => {
  it('[Q-11] leaves valid prompts within the limit, with the newest group wherever that fits', () => {
    fc.assert(
      fc.property(growth, ([sizes, tokensMax]) => {
        for (const { sent, newest } of growing(sizes, tokensMax)) {
          correlateTools(sent);
          expect(sent.slice(0, 2)).toEqual([system, user()]);
          expect(total(sent)).toBeLessThanOrEqual(Math.max(tokensMax, PROTECTED));
          if (PROTECTED + total(newest) <= tokensMax) expect(sent.slice(-2)).toEqual(newest);
        }
      }),
    );
  });

  it('keeps its place until the limit is exceeded again: in between a prompt only grows at its end', () => {
    fc.assert(
      fc.property(growth, ([sizes, tokensMax]) => {
        let before: ModelMessage[] = [system, user()];
        let cutBefore = 0;
        for (const { sent, cut: cutNow, newest } of growing(sizes, tokensMax)) {
          const whole = [...before, ...newest];
          expect(cutNow).toBeGreaterThanOrEqual(cutBefore);
          if (total(whole) <= tokensMax) expect([sent, cutNow]).toEqual([whole, cutBefore]);
          else if (PROTECTED + total(newest) <= 0.75 * tokensMax) expect(total(sent)).toBeLessThanOrEqual(0.75 * tokensMax);
          [before, cutBefore] = [sent, cutNow];
        }
      }),
    );
  });

  it('moves once in many turns of one size, not in each', () => {
    const cuts = growing(Array.from({ length: 100 }, () => 17), 400).map((prompt) => prompt.cut);
    expect(new Set(cuts).size).toBeLessThanOrEqual(100 / 5 + 1);
  });
});
