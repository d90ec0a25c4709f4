import { describe, expect, it } from 'vitest';
import type { LiveFrame } from '#contracts';
import { LiveBaseline } from './live-baseline.ts';

const place = (attempt: number, index: number) => ({ turn: 1, attempt, revision: index + 1, index });
const whole = (index: number, content = '', attempt = 1): LiveFrame => ({ type: 'baseline', ...place(attempt, index), parts: content === '' ? [] : [{ type: 'content', content }] });
const text = (index: number, content: string, attempt = 1): LiveFrame => ({ type: 'content', ...place(attempt, index), content });
const end = (index: number, attempt = 1): LiveFrame => ({ type: 'end', ...place(attempt, index), outcome: 'committed' });

const fold = (...frames: LiveFrame[]) => {
  const baseline = new LiveBaseline();
  return { verdicts: frames.map((frame) => baseline.accept(frame, 7)), active: baseline.active };
};

describe('LiveBaseline', () => {
  it('keeps the attempt under way: its text, the next index, and the newest event when it began', () => {
    const { verdicts, active } = fold(whole(0), text(0, 'a'), text(1, 'b'), { ...text(2, 'hm'), type: 'reasoning', content: 'hm' });
    expect(verdicts).toEqual(['replace', 'forward', 'forward', 'forward']);
    expect(active).toMatchObject({ startedAfterSeq: 7, nextIndex: 3, parts: [{ type: 'content', content: 'ab' }, { type: 'reasoning', content: 'hm' }] });
  });

  it('ignores a retelling, and what it cannot place', () => {
    expect(fold(text(0, 'a'), whole(0), text(0, 'a'), text(0, 'a'), whole(1, 'a'), text(0, 'x', 2)).verdicts).toEqual(['ignore', 'replace', 'forward', 'ignore', 'ignore', 'ignore']);
  });

  it('drops the attempt at a hole, and has it back with its next baseline', () => {
    expect(fold(whole(0), text(2, 'c')).active).toBeNull();
    expect(fold(whole(0), text(2, 'c'), whole(3, 'abc'), text(3, 'd')).active?.parts).toEqual([{ type: 'content', content: 'abcd' }]);
  });

  it('never goes back to an attempt that is over or older', () => {
    expect(fold(whole(0, '', 2), whole(5, 'old', 1), end(0, 2), whole(0, '', 2)).verdicts).toEqual(['replace', 'ignore', 'forward', 'ignore']);
  });

  it('shares nothing with the frames it was given', () => {
    const frame = whole(1, 'a');
    fold(frame, text(1, 'b'));
    expect(frame).toEqual(whole(1, 'a'));
  });
});
