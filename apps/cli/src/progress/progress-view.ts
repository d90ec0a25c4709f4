import type { EventEnvelope } from '#contracts';
import type { Terminal } from '../terminal.ts';
import { creditsText, liveLines } from './live-lines.ts';
import { plainLine } from './plain-lines.ts';
import { foldProgress, initialProgress } from './progress-state.ts';

export interface ProgressView {
  add(event: EventEnvelope): void;
  /** Takes the live view away; lines that were noted meanwhile stay on the screen. Safe to repeat. */
  close(): void;
}

/** A live view on a terminal, plain lines elsewhere. Always on stderr. */
export const createProgressView = (terminal: Terminal): ProgressView => (terminal.isLive ? liveView(terminal) : plainView(terminal));

/** Credits are told once for each tenth of the budget that has been spent. */
const SPENT_STEPS = 10;

function plainView(terminal: Terminal): ProgressView {
  let steps = 0;
  return {
    add(event) {
      const line = plainLine(event);
      if (line !== undefined) terminal.note(line);
      if (event.type !== 'budget_status') return;
      const reached = Math.floor((event.spent / event.limit) * SPENT_STEPS);
      if (reached > steps) terminal.note(creditsText(event));
      steps = Math.max(steps, reached);
    },
    close: () => undefined,
  };
}

const REFRESH_MS = 100;
const ERASE_LINE = '\u001B[2K';
const UP = '\u001B[1A';
const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';

function liveView(terminal: Terminal): ProgressView {
  const startedAtMs = performance.now();
  let state = initialProgress;
  let drawn = 0;
  const erase = (): string => (ERASE_LINE + UP).repeat(drawn) + ERASE_LINE + '\r';
  const draw = (before = ''): void => {
    const lines = liveLines(state, { elapsedMs: performance.now() - startedAtMs, columns: terminal.columns(), colors: terminal.colors });
    terminal.writeError(`${erase()}${before}${lines.join('\n')}\n`);
    drawn = lines.length;
  };
  const showCursor = (): void => terminal.writeError(SHOW_CURSOR);
  terminal.writeError(HIDE_CURSOR);
  terminal.redirectNotes((line) => draw(`${line}\n`));
  process.once('exit', showCursor);
  const timer = setInterval(() => draw(), REFRESH_MS);
  return {
    add(event) {
      state = foldProgress(state, event);
    },
    close() {
      clearInterval(timer);
      terminal.redirectNotes(undefined);
      terminal.writeError(erase());
      drawn = 0;
      process.removeListener('exit', showCursor);
      showCursor();
    },
  };
}
