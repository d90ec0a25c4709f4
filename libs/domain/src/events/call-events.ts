import { assertNever, type AssistantRole, type DurableEventBody, type ToolResult } from '#contracts';
import type { ToolSpec } from '../ports/tool.ts';

const CONTENT_CHARS_MAX = 16_000;

export interface EventAuthor {
  role: AssistantRole;
  assistantId: string;
  worker: number | null;
}

type Phase = { phase: 'started' } | { phase: 'settled'; result: ToolResult; rendered: string };

const operationOf = (spec: ToolSpec): 'read' | 'update' | 'append' =>
  spec.effect === 'scratchpad-read' ? 'read' : spec.activity === 'plan' ? 'update' : 'append';

/**
 * What observers learn about one tool call: public activity words only, never a tool's name, its arguments or a prompt (invariant Q-20).
 * Success of a scratchpad write is announced by the service that commits it, so it is not repeated here.
 */
export function callEvents(spec: ToolSpec, announcement: string, author: EventAuthor, at: Phase): DurableEventBody[] {
  const worker = author.worker === null ? {} : { worker: author.worker };
  const failed = at.phase === 'settled' && at.result.kind === 'error';
  switch (spec.effect) {
    case 'read': {
      const status = at.phase === 'started' ? 'running' : failed ? 'error' : 'success';
      const message = at.phase === 'settled' && at.result.kind === 'error' ? at.result.message : announcement;
      return [{ type: 'web_status', tool: spec.activity, status, message, ...worker }];
    }
    case 'scratchpad-read':
    case 'scratchpad-write':
      return scratchpadEvents(spec, announcement, author, at);
    case 'delegate':
      return at.phase === 'started' || failed
        ? [{ type: 'research_status', activity: announcement, tool: spec.activity, state: failed ? 'error' : 'in_progress', ...worker }]
        : [];
    default:
      return assertNever(spec.effect);
  }
}

function scratchpadEvents(spec: ToolSpec, activity: string, author: EventAuthor, at: Phase): DurableEventBody[] {
  const common = scratchpadHead(operationOf(spec), author);
  if (at.phase === 'started') return [{ ...common, state: 'in_progress', activity }];
  if (at.result.kind === 'error') return [{ ...common, state: 'error', activity: at.result.message }];
  if (spec.effect === 'scratchpad-write') return [];
  return [{ ...common, state: 'success', content: at.rendered.slice(0, CONTENT_CHARS_MAX) }, { ...common, state: 'completed' }];
}

const scratchpadHead = (operation: 'read' | 'update' | 'append', author: EventAuthor) => ({
  type: 'scratchpad_status' as const,
  operation,
  assistant_id: author.assistantId,
  origin: author.role === 'supervisor' ? ('supervisor' as const) : ('research_worker' as const),
  ...(author.worker === null ? {} : { worker: author.worker }),
});

/** Facts of a committed scratchpad write, announced by its service in the same commit. */
export function scratchpadWriteEvents(operation: 'update' | 'append', entry: string, author: EventAuthor): DurableEventBody[] {
  const common = scratchpadHead(operation, author);
  return [{ ...common, state: 'success', entry: entry.slice(0, CONTENT_CHARS_MAX) }, { ...common, state: 'completed' }];
}
