import type { SourceId, ToolCallId } from '#contracts';

/** The id of the source a call fetches. Pure, and a call fetches at most one, so a repeated call names the same source. */
export function deriveSourceId(toolCallId: ToolCallId): SourceId {
  return `src_${toolCallId.slice(toolCallId.indexOf('_') + 1)}` as SourceId;
}
