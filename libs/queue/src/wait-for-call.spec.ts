import { describe, expect, it } from 'vitest';
import type { ToolCallId, ToolResult } from '#contracts';
import type { Completions } from './completions.ts';
import { newCallId } from './spec-support/queue-world.ts';
import { CallWaiter } from './wait-for-call.ts';

const RESULT: ToolResult = { kind: 'text', text: 'written' };
const never = new AbortController().signal;

/** Completion events by hand, and rows that settle when told. */
function setUp() {
  const listeners = new Set<(toolCallId: ToolCallId) => void>();
  const rows = new Map<ToolCallId, ToolResult>();
  let reads = 0;
  const completions = { listen: (listener: (toolCallId: ToolCallId) => void) => (listeners.add(listener), () => listeners.delete(listener)) } as unknown as Completions;
  const waiter = new CallWaiter(completions, async (toolCallId) => (reads++, rows.get(toolCallId) ?? null));
  return { waiter, rows, listeners, reads: () => reads, tell: (toolCallId: ToolCallId) => listeners.forEach((listener) => listener(toolCallId)) };
}

const elapsed = async (work: Promise<unknown>): Promise<number> => {
  const startedMs = performance.now();
  await work;
  return performance.now() - startedMs;
};

describe('CallWaiter', () => {
  it('is woken by the event, at once', async () => {
    const { waiter, rows, tell, reads } = setUp();
    const toolCallId = newCallId();
    const waiting = waiter.wait(toolCallId, never);
    rows.set(toolCallId, RESULT);
    const ms = await elapsed((tell(toolCallId), waiting));
    expect(await waiting).toEqual(RESULT);
    expect(ms).toBeLessThan(100);
    expect(reads()).toBe(1);
  });

  it('[Q-14] finds the result by its own poll when every event is lost', async () => {
    const { waiter, rows } = setUp();
    const toolCallId = newCallId();
    const waiting = waiter.wait(toolCallId, never);
    rows.set(toolCallId, RESULT);
    expect(await waiting).toEqual(RESULT);
  });

  it('looks again after an event that came before the row, and does not take one call for another', async () => {
    const { waiter, rows, tell } = setUp();
    const [mine, other] = [newCallId(), newCallId()];
    const waiting = waiter.wait(mine, never);
    tell(other);
    tell(mine);
    await new Promise(setImmediate);
    rows.set(mine, RESULT);
    tell(mine);
    expect(await waiting).toEqual(RESULT);
  });

  it('keeps many waits apart', async () => {
    const { waiter, rows, tell } = setUp();
    const calls = Array.from({ length: 50 }, newCallId);
    const waits = calls.map((toolCallId) => waiter.wait(toolCallId, never));
    for (const toolCallId of calls.toReversed()) {
      rows.set(toolCallId, { kind: 'text', text: toolCallId });
      tell(toolCallId);
    }
    expect(await Promise.all(waits)).toEqual(calls.map((text) => ({ kind: 'text', text })));
  });

  it('wakes a second wait for the same call although the first was given up', async () => {
    const { waiter, rows, tell, reads } = setUp();
    const toolCallId = newCallId();
    const abort = new AbortController();
    const first = waiter.wait(toolCallId, abort.signal);
    const second = waiter.wait(toolCallId, never);
    abort.abort(new Error('claimed again'));
    await expect(first).rejects.toThrow('claimed again');
    rows.set(toolCallId, RESULT);
    const ms = await elapsed((tell(toolCallId), second));
    expect(ms).toBeLessThan(100);
    expect(reads()).toBe(1);
  });

  it('ends at once when its signal has aborted before', async () => {
    const { waiter } = setUp();
    expect(await elapsed(expect(waiter.wait(newCallId(), AbortSignal.abort(new Error('over')))).rejects.toThrow('over'))).toBeLessThan(100);
  });

  it('ends with the reason of its signal, and listens to nothing after close', async () => {
    const { waiter, listeners } = setUp();
    const abort = new AbortController();
    const waiting = waiter.wait(newCallId(), abort.signal);
    abort.abort(new Error('the lease was lost'));
    await expect(waiting).rejects.toThrow('the lease was lost');
    waiter.close();
    expect(listeners.size).toBe(0);
  });
});
