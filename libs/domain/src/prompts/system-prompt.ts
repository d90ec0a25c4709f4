import type { AssistantRole } from '#contracts';
import { SUPERVISOR_PROMPT } from './supervisor.ts';
import { WORKER_PROMPT } from './worker.ts';

export const ROLE_PROMPTS: Record<AssistantRole, string> = { supervisor: SUPERVISOR_PROMPT, worker: WORKER_PROMPT };

export interface SystemPromptParts {
  role: AssistantRole;
  /** The assistant's own instructions; may be empty. They add to the role's rules and stand after them. */
  instructions: string;
  /** Start of the run in epoch milliseconds. Only its UTC date is told, so that the prompt stays the same on every turn and caches well. */
  startedAtMs: number;
}

/** The system message of a run. The same on every turn of one run. */
export function systemPrompt({ role, instructions, startedAtMs }: SystemPromptParts): string {
  const date = `Today is ${new Date(startedAtMs).toISOString().slice(0, 10)} (UTC).`;
  return [ROLE_PROMPTS[role], instructions.trim(), date].filter((part) => part !== '').join('\n\n');
}
