import { z } from 'zod';
import { NOTE_CHARS_MAX } from '#contracts';
import { defineTool } from './define-tool.ts';
import { requiredText } from './parameters.ts';

/** Adds one entry to the scratchpad. The scratchpad service writes it and settles the call; a repeat adds nothing. */
export const appendScratchpad = defineTool({
  name: 'append_scratchpad',
  capability: 'scratchpad',
  roles: ['supervisor', 'worker'],
  description: 'Adds one finding to the shared scratchpad. Entries are never changed afterwards; others read them as they stand.',
  parameters: z.strictObject({
    note: requiredText('note', NOTE_CHARS_MAX).describe('The finding: a claim, its verbatim quote and a Markdown link to the page.'),
  }),
  effect: 'scratchpad-write',
  price: null,
  timeoutMs: 60_000,
  activity: 'note',
  announce: () => 'Adding a finding to the scratchpad.',
  async execute(_args, caller, ports, signal) {
    return { kind: 'settled', result: await ports.writeScratchpad(caller, signal), alreadySettled: true };
  },
});
