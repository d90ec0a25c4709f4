import { expect, it, vi } from 'vitest';
import { keep } from './keep.ts';

it('asks once at a time, and again only after the answer has been kept long enough', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const answers: ((value: number) => void)[] = [];
    const ask = keep(1_000, () => new Promise<number>((resolve) => answers.push(resolve)));
    const both = [ask(), ask()];
    vi.advanceTimersByTime(60_000);
    both.push(ask());
    expect(answers).toHaveLength(1);
    answers[0]!(7);
    expect(await Promise.all(both)).toEqual([7, 7, 7]);
    vi.advanceTimersByTime(999);
    expect(await ask()).toBe(7);
    vi.advanceTimersByTime(2);
    const next = ask();
    answers[1]!(8);
    expect(await next).toBe(8);
  } finally {
    vi.useRealTimers();
  }
});

it('asks again at once after a failure', async () => {
  const read = vi.fn<() => Promise<number>>().mockRejectedValueOnce(new Error('down')).mockResolvedValueOnce(1);
  const ask = keep(1_000, read);
  await expect(ask()).rejects.toThrow('down');
  expect(await ask()).toBe(1);
});
