import type { EventEnvelope, RunId } from '#contracts';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { liveLines } from './live-lines.ts';
import { createProgressView } from './progress-view.ts';
import type { Terminal } from '../terminal.ts';
import { foldProgress, initialProgress } from './progress-state.ts';

type Body = EventEnvelope extends infer Event ? (Event extends EventEnvelope ? Omit<Event, 'run_id' | 'at' | 'seq'> : never) : never;
const fold = (...events: Body[]) => events.map((event) => ({ ...event, run_id: 'run_x' as RunId, at: '' }) as EventEnvelope).reduce(foldProgress, initialProgress);
const show = (state: ReturnType<typeof fold>, columns = 80) => liveLines(state, { elapsedMs: 3_400, columns, colors: pc.createColors(false) });

describe('progress', () => {
  it('has one lane per worker, which ends with its delegation', () => {
    const state = fold(
      { type: 'run_status', status: 'waiting' },
      { type: 'research_status', activity: 'Compare both', tool: 'delegation', state: 'in_progress', worker: 1 },
      { type: 'research_status', activity: 'Find prices', tool: 'delegation', state: 'in_progress', worker: 2 },
      { type: 'web_status', tool: 'search', status: 'success', message: 'Searching for prices', worker: 2 },
      { type: 'web_status', tool: 'read', status: 'success', message: 'Reading a.example', worker: 2 },
      { type: 'web_status', tool: 'read', status: 'error', message: 'Reading b.example', worker: 2 },
      { type: 'research_status', activity: 'Compare both', tool: 'delegation', state: 'completed', worker: 1 },
      { type: 'budget_status', limit: 100, reserved: 1, spent: 3.25, left: 95.75 },
    );
    expect(show(state)).toEqual([
      '⠼ supervisor  waiting for 1 worker',
      '✔ worker 1    Compare both',
      '⠼ worker 2    Reading b.example (1 search, 1 read)',
      '  waiting · sources 0 · credits 3.25 of 100, 1 reserved · 3 s',
    ]);
  });

  it('tells credits on plain lines once for each tenth that is spent, with what is expected', () => {
    const lines: string[] = [];
    const view = createProgressView({ isLive: false, note: (line: string) => void lines.push(line) } as Terminal);
    for (const spent of [5, 12, 15, 31]) view.add({ type: 'budget_status', limit: 100, reserved: 2, spent, left: 98 - spent, forecast: 40, run_id: 'run_x' as RunId, at: '' });
    expect(lines).toEqual(['credits 12 of 100, 2 reserved, about 40 expected', 'credits 31 of 100, 2 reserved, about 40 expected']);
  });

  it('shows that the report is being written, and starts over when an attempt has ended', () => {
    const content: Body = { type: 'content', content: 'x'.repeat(1_200), attempt: 1, turn: 2, revision: 2, index: 0 };
    expect(show(fold(content))[0]).toBe('⠼ supervisor  writing (1,200 characters)');
    const state = fold(content, { type: 'settlement', role: 'supervisor', turn: 2, attempt: 1, outcome: 'failed' });
    expect(state.answerChars).toBe(0);
  });

  it('counts text once when the whole comes anew, as after a lost connection', () => {
    const place = { attempt: 1, turn: 2, revision: 9 };
    const parts = [{ type: 'reasoning' as const, content: 'hm' }, { type: 'content' as const, content: 'x'.repeat(1_300) }];
    const state = fold({ type: 'content', content: 'x'.repeat(1_200), ...place, index: 0 }, { type: 'attempt', ...place, index: 3, started_after_seq: 4, parts });
    expect(state.answerChars).toBe(1_300);
    expect(foldProgress(state, { type: 'attempt_end', ...place, index: 3, outcome: 'abandoned', run_id: 'run_x' as RunId, at: '' }).answerChars).toBe(0);
  });

  it('never draws a line that is wider than the screen, or one that moves the cursor', () => {
    const state = fold({ type: 'web_status', tool: 'read', status: 'running', message: `\u001B[2J${'long '.repeat(50)}`, worker: 1 });
    for (const line of show(state, 40)) {
      expect([...line].length).toBeLessThanOrEqual(40);
      expect(line).not.toMatch(/[\u0000-\u001f]/);
    }
  });

  it('keeps the last lanes when there are many', () => {
    const many = Array.from({ length: 20 }, (_, index): Body => ({ type: 'web_status', tool: 'read', status: 'running', message: 'Reading', worker: index + 1 }));
    const lines = show(fold(...many));
    expect(lines).toHaveLength(15);
    expect(lines[1]).toBe('  … 8 more workers');
  });
});
