import { z } from 'zod';
import { DELEGATION_TASK_CHARS_MAX } from '#contracts';
import { defineTool } from './define-tool.ts';
import { requiredText } from './parameters.ts';

/** Hands a task to a worker run. The only tool that defers: its result is the end of that run. */
export const delegateResearchTask = defineTool({
  name: 'delegate_research_task',
  capability: 'delegation',
  roles: ['supervisor'],
  description:
    'Gives one self-contained task to a new research worker, who searches and reads, puts findings on the scratchpad and reports back. Several calls in one turn run in parallel.',
  parameters: z.strictObject({
    task: requiredText('task', DELEGATION_TASK_CHARS_MAX).describe('What to find out, complete in itself: the worker sees nothing else of this conversation.'),
    requirements: z
      .string('requirements must be text')
      .trim()
      .max(DELEGATION_TASK_CHARS_MAX, `requirements must be at most ${DELEGATION_TASK_CHARS_MAX} characters`)
      .optional()
      .describe('Strategy, fallback terms, and the form the findings should have.'),
  }),
  effect: 'delegate',
  price: null,
  timeoutMs: 15_000,
  activity: 'delegation',
  announce: () => 'Handing a part of the question to a worker.',
  execute: () => Promise.resolve({ kind: 'deferred' }),
});
