export interface DelegationTask {
  task: string;
  /** Strategy, fallback terms and form of the findings; absent when the supervisor gave none. */
  requirements?: string | undefined;
}

/** The first user message of a worker run: what the supervisor asked for, and what counts as having done it. */
export function delegationPrompt({ task, requirements }: DelegationTask): string {
  const parts = [`TASK\n${task.trim()}`];
  if (requirements !== undefined && requirements.trim() !== '') parts.push(`REQUIREMENTS\n${requirements.trim()}`);
  parts.push('Only findings on the scratchpad count, each with a verbatim quote and a link to the page you read. Text alone is no result.');
  return parts.join('\n\n');
}
