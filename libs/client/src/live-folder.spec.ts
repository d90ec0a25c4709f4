import type { EventEnvelope, RunId } from '#contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LiveFolder } from './live-folder.ts';
import { foldLiveView, type LiveView } from './live-view.ts';

const envelope = { run_id: `run_${'0'.repeat(26)}` as RunId, at: '2026-01-01T00:00:00.000Z' };
const status = (seq: number, value: 'running' | 'completed' = 'running'): EventEnvelope => ({ ...envelope, type: 'run_status', seq, status: value });
const settlement = (seq: number, attempt = 1, outcome: 'completed' | 'lost' = 'completed'): EventEnvelope => ({ ...envelope, type: 'settlement', seq, role: 'supervisor', turn: 1, attempt, outcome });
const whole = (index: number, attempt = 1, startedAfter = 0): EventEnvelope => ({
  ...envelope, type: 'attempt', turn: 1, attempt, revision: 1, index, started_after_seq: startedAfter,
  parts: index === 0 ? [] : [{ type: 'content', content: textUpTo(attempt, index) }],
});
const text = (index: number, attempt = 1): EventEnvelope => ({ ...envelope, type: 'content', turn: 1, attempt, revision: 2 + index, index, content: `${attempt}.${index} ` });
const end = (index: number, attempt = 1, outcome: 'committed' | 'abandoned' = 'committed'): EventEnvelope => ({ ...envelope, type: 'attempt_end', turn: 1, attempt, revision: 99, index, outcome });
const textUpTo = (attempt: number, count: number): string => Array.from({ length: count }, (_, index) => `${attempt}.${index} `).join('');

const show = (event: EventEnvelope): string => {
  if (event.seq !== undefined) return `${event.seq}`;
  if (event.type === 'attempt') return `whole ${event.attempt}:${event.index}`;
  if (event.type === 'content') return event.content.trim();
  return event.type === 'gap' ? `gap ${event.after}-${event.next}` : event.type;
};
const run = (...events: EventEnvelope[]): string[] => {
  const folder = new LiveFolder(0);
  return events.flatMap((event) => folder.accept(event)).map(show);
};

describe('staging', () => {
  it('holds the settlement until the last text and its end have come', () => {
    expect(run(status(1), whole(0, 1, 1), settlement(2), status(3), text(0), end(1))).toEqual(['1', 'whole 1:0', '1.0', '2', '3']);
  });

  it('shows at once what belongs to no attempt under way', () => {
    expect(run(settlement(1), whole(0, 2, 1), settlement(2, 1), text(0, 2))).toEqual(['1', 'whole 2:0', '2', '2.0']);
  });

  it('does not wait for a lost attempt, for an end that has come, or beyond the end of the run', () => {
    expect(run(whole(0), text(0), settlement(1, 1, 'lost'), whole(0, 2, 1))).toEqual(['whole 1:0', '1.0', '1', 'whole 2:0']);
    expect(run(whole(0), text(0), end(1), settlement(1))).toEqual(['whole 1:0', '1.0', '1']);
    expect(run(whole(0), settlement(1), status(2, 'completed'))).toEqual(['whole 1:0', '1', '2']);
  });

  it('is not told again of an attempt that is over', () => {
    expect(run(settlement(1), whole(2), text(2), whole(0, 2))).toEqual(['1', 'whole 2:0']);
  });

  it('ignores text of an unknown, older or repeated place', () => {
    expect(run(text(0), whole(0, 2), whole(3, 1), text(0, 1), text(0, 2), text(0, 2))).toEqual(['whole 2:0', '2.0']);
  });

  it('asks for the whole when a text is missing, and lets nothing wait meanwhile', () => {
    const folder = new LiveFolder(0);
    const shown = [whole(0), settlement(1), text(4)].flatMap((event) => folder.accept(event));
    expect([shown.map(show), folder.needsWhole]).toEqual([['whole 1:0', '1'], true]);
  });

  it('takes text away whose settlement was not written', () => {
    expect(run(whole(0), text(0), end(1, 1, 'abandoned'), whole(0, 2))).toEqual(['whole 1:0', '1.0', 'attempt_end', 'whole 2:0']);
  });

  it('leaves text in its place between its end and its settlement, and takes it away when that was skipped', () => {
    expect(run(whole(0), text(0), end(1), status(1), settlement(2))).toEqual(['whole 1:0', '1.0', '1', '2']);
    expect(run(whole(0), text(0), end(1), status(3))).toEqual(['whole 1:0', '1.0', 'attempt_end', 'gap 0-3', '3']);
    expect(run(whole(0), text(0), end(1), whole(0, 2), text(0, 2), settlement(1))).toEqual(['whole 1:0', '1.0', 'whole 2:0', '2.0', '1']);
  });

  it('[Q-19] gives durable events once, and announces holes', () => {
    expect(run(status(1), status(1), status(3), status(2))).toEqual(['1', 'gap 1-3', '3']);
  });

  it('does not keep more than it must for an end that never comes', () => {
    const folder = new LiveFolder(0);
    folder.accept(whole(0));
    const shown = [settlement(1), ...Array.from({ length: 400 }, (_, index) => status(index + 2))].flatMap((event) => folder.accept(event));
    expect(shown.map(show)).toEqual(Array.from({ length: 401 }, (_, index) => String(index + 1)));
  });
});

interface Screen {
  durable: string[];
  live: LiveView | null;
}
const draw = (screen: Screen, event: EventEnvelope): Screen => ({
  durable: event.seq === undefined ? screen.durable : [...screen.durable, show(event)],
  live: foldLiveView(screen.live, event),
});

/** What a gateway knows at each instant of a run: its log, and the attempt under way. */
type Moment = { log: EventEnvelope[]; whole: EventEnvelope | null; sent: EventEnvelope[] };

function story(lengths: number[], endsFirst = false): Moment[] {
  const moments: Moment[] = [];
  const log: EventEnvelope[] = [status(1)];
  lengths.forEach((length, position) => {
    const attempt = position + 1;
    const startedAfter = log.length;
    moments.push({ log: [...log], whole: whole(0, attempt, startedAfter), sent: [whole(0, attempt, startedAfter)] });
    for (let index = 0; index < length; index++) moments.push({ log: [...log], whole: whole(index + 1, attempt, startedAfter), sent: [text(index, attempt)] });
    const settled = settlement(log.length + 1, attempt);
    if (endsFirst) moments.push({ log: [...log, settled], whole: null, sent: [end(length, attempt)] });
    log.push(settled);
    if (endsFirst) moments.push({ log: [...log], whole: null, sent: [settled] });
    else moments.push({ log: [...log], whole: whole(length, attempt, startedAfter), sent: [settled] }, { log: [...log], whole: null, sent: [end(length, attempt)] });
  });
  const last = status(log.length + 1, 'completed');
  moments.push({ log: [...log, last], whole: null, sent: [last] });
  return moments;
}

describe('any drops and reconnects', () => {
  it('[Q-19] show what one unbroken connection shows, at every moment that is seen', () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(lengths, fc.array(fc.constantFrom('take', 'take', 'take', 'lose', 'cut'), { maxLength: 60 }), fc.boolean(), (sizes, fates, endsFirst) => {
        const unbroken = new LiveFolder(0);
        const broken = new LiveFolder(0);
        let expected: Screen = { durable: [], live: null };
        let actual: Screen = { durable: [], live: null };
        let isConnected = false;
        const give = (event: EventEnvelope): void => void (actual = broken.accept(event).reduce(draw, actual));
        const moments = story(sizes, endsFirst);
        moments.forEach((moment, position) => {
          if (position === 0) for (const event of moment.log) expected = unbroken.accept(event).reduce(draw, expected);
          for (const event of moment.sent) expected = unbroken.accept(event).reduce(draw, expected);
          const fate = position === moments.length - 1 ? 'take' : (fates[position] ?? 'take');
          if (fate !== 'take') isConnected = false;
          if (fate === 'lose') return;
          if (isConnected) moment.sent.forEach(give);
          else {
            actual = broken.reconnected().reduce(draw, actual);
            for (const event of moment.log.slice(broken.after)) give(event);
            if (moment.whole) give(moment.whole);
            isConnected = true;
          }
        });
        expect(actual).toEqual(expected);
        expect(actual.live).toBeNull();
      }),
      { numRuns: 500 },
    );
  });
});
