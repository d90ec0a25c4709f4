import { z } from 'zod';
import { renderScratchpad } from '#domain';
import { defineTool } from './define-tool.ts';

/** Shows the whole scratchpad of the root run. */
export const readScratchpad = defineTool({
  name: 'read_scratchpad',
  capability: 'scratchpad',
  roles: ['supervisor', 'worker'],
  description: 'Returns the whole shared scratchpad: the plan and every appended finding with its author.',
  parameters: z.strictObject({}),
  effect: 'scratchpad-read',
  price: null,
  timeoutMs: 15_000,
  activity: 'notes',
  announce: () => 'Reading the scratchpad.',
  mayDiffer: () => true,
  async execute(_args, { tenantId, scratchpadThreadId }, ports) {
    const content = await ports.scratchpad.read(tenantId, scratchpadThreadId);
    return { kind: 'settled', result: { kind: 'text', text: renderScratchpad(content) } };
  },
});
