import { z } from 'zod';
import { SCRATCHPAD_BODY_CHARS_MAX } from '#contracts';
import { defineTool } from './define-tool.ts';
import { requiredText } from './parameters.ts';

/** Replaces the working body, the supervisor's plan. The scratchpad service writes it and settles the call. */
export const updateScratchpad = defineTool({
  name: 'update_scratchpad',
  capability: 'scratchpad',
  roles: ['supervisor'],
  description: 'Replaces the working body of the scratchpad (your plan) with new content. Appended findings are not touched.',
  parameters: z.strictObject({
    content: requiredText('content', SCRATCHPAD_BODY_CHARS_MAX).describe('The whole new plan; it replaces the old one.'),
  }),
  effect: 'scratchpad-write',
  price: null,
  timeoutMs: 60_000,
  activity: 'plan',
  announce: () => 'Updating the plan.',
  mayDiffer: () => true,
  async execute(_args, caller, ports, signal) {
    return { kind: 'settled', result: await ports.writeScratchpad(caller, signal), alreadySettled: true };
  },
});
