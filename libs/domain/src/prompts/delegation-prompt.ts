/**
 * The first user message of a worker run: what the supervisor asked for, and what counts as having done it. `requirements` hold strategy,
 * fallback terms and the form of findings; blank or absent when the supervisor gave none.
 */
export function delegationPrompt(task: string, requirements?: string): string {
  const parts = [`TASK\n${task.trim()}`];
  if (requirements !== undefined && requirements.trim() !== '') parts.push(`REQUIREMENTS\n${requirements.trim()}`);
  parts.push('Only findings on the scratchpad count, each with a verbatim quote and a link to the page you read. Text alone is no result.');
  return parts.join('\n\n');
}
