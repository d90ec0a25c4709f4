import type { Terminal } from '../terminal.ts';
import { printableLine } from '../terminal.ts';
import type { Lane, ProgressState } from './progress-state.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
const LANES_SHOWN_MAX = 12;
const LABEL_WIDTH = 11;

/** The lines of the live view, each cut to the width of the screen. */
export function liveLines(state: ProgressState, view: { elapsedMs: number; columns: number; colors: Terminal['colors'] }): string[] {
  const lanes = [...state.workers].sort(([left], [right]) => left - right);
  const shown = lanes.slice(-LANES_SHOWN_MAX);
  const hidden = lanes.length - shown.length;
  return [
    laneLine('supervisor', { ...state.supervisor, activity: supervisorActivity(state) }, view),
    ...(hidden > 0 ? [view.colors.dim(`  … ${hidden} more worker${hidden === 1 ? '' : 's'}`)] : []),
    ...shown.map(([number, lane]) => laneLine(`worker ${number}`, lane, view)),
    view.colors.dim(cut(`  ${footer(state, view.elapsedMs)}`, view.columns)),
  ];
}

function supervisorActivity(state: ProgressState): string {
  if (state.answerChars > 0) return `writing (${state.answerChars.toLocaleString('en')} characters)`;
  const open = [...state.workers.values()].filter((lane) => lane.state === 'working').length;
  if (state.status === 'waiting' && open > 0) return `waiting for ${open} worker${open === 1 ? '' : 's'}`;
  return state.supervisor.activity || state.status;
}

function laneLine(label: string, lane: Lane, { elapsedMs, columns, colors }: { elapsedMs: number; columns: number; colors: Terminal['colors'] }): string {
  const counts = [plural(lane.searches, 'search', 'searches'), plural(lane.reads, 'read', 'reads'), plural(lane.notes, 'finding', 'findings')].filter(Boolean).join(', ');
  const text = cut(`${label.padEnd(LABEL_WIDTH)} ${printableLine(lane.activity)}${counts ? ` (${counts})` : ''}`, columns - 2);
  const mark = { working: () => colors.cyan(FRAMES[Math.floor(elapsedMs / FRAME_MS) % FRAMES.length] ?? ''), done: () => colors.green('✔'), failed: () => colors.red('✖') }[lane.state]();
  return `${mark} ${lane.state === 'working' ? text : colors.dim(text)}`;
}

function footer(state: ProgressState, elapsedMs: number): string {
  return [state.status, `sources ${state.sources}`, state.credits && creditsText(state.credits), `${Math.floor(elapsedMs / 1000)} s`].filter(Boolean).join(' · ');
}

/** What has been spent and set aside, and what the run is expected to spend in all. */
export function creditsText({ spent, limit, reserved, forecast }: NonNullable<ProgressState['credits']>): string {
  const expected = forecast === undefined ? '' : `, about ${formatCredits(forecast)} expected`;
  return `credits ${formatCredits(spent)} of ${formatCredits(limit)}, ${formatCredits(reserved)} reserved${expected}`;
}

export const formatCredits = (credits: number): string => credits.toLocaleString('en', { maximumFractionDigits: 2 });

const plural = (count: number, one: string, many: string): string => (count === 0 ? '' : `${count} ${count === 1 ? one : many}`);

function cut(text: string, columns: number): string {
  const characters = [...text];
  return characters.length <= columns ? text : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}
