import { QuaestorError, type ModelMessage } from '#contracts';

/**
 * Checks a prompt before it is sent: every tool call has exactly one result, in the group of its call, and every result has its call. Throws
 * `JOURNAL_INVALID`, naming the first call at fault. Providers refuse such a prompt for ever, so it must never leave the process
 * (invariants ).
 */
export function correlateTools(messages: readonly ModelMessage[]): void {
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId)) throw broken(seen.has(message.toolCallId) ? 'has a second result' : 'has a result but no call before it', message.toolCallId);
      continue;
    }
    requireAnswered(open);
    open = openCalls(message, seen);
  }
  requireAnswered(open);
}

function openCalls(message: ModelMessage, seen: Set<string>): Set<string> {
  const open = new Set<string>();
  if (message.role !== 'assistant') return open;
  for (const { toolCallId } of message.toolCalls ?? []) {
    if (seen.has(toolCallId)) throw broken('was made twice', toolCallId);
    seen.add(toolCallId);
    open.add(toolCallId);
  }
  return open;
}

function requireAnswered(open: ReadonlySet<string>): void {
  for (const toolCallId of open) throw broken('has no result', toolCallId);
}

const broken = (what: string, toolCallId: string): QuaestorError =>
  new QuaestorError('JOURNAL_INVALID', `The stored conversation is broken: tool call ${toolCallId} ${what}.`, { details: { toolCallId } });
