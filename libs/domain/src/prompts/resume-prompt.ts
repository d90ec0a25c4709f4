import type { StopReason } from '#contracts';
import { oneLine } from '../tools/one-line.ts';
import { reasonFor } from './turn-notice.ts';

const TASKS_SHOWN_MAX = 20;

/** The message with which a successor goes on, after the question. `openTasks` were given to workers who did not finish them. */
export function resumePrompt(stopReason: StopReason, openTasks: readonly string[]): string {
  const tasks = openTasks.slice(0, TASKS_SHOWN_MAX).map((task) => `- ${oneLine(task)}`);
  const open = tasks.length === 0 ? '' : ` These tasks were not finished; delegate again what still matters:\n${tasks.join('\n')}\n`;
  return `The research stopped before because ${reasonFor(stopReason)}. It goes on now with more credits or time. Everything read and found so far is still there: read the scratchpad first.${open} Pages that were read and searches that were made cost nothing when they are asked for again.`;
}
