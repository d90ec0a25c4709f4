import type { LimitHit, ToolResult } from '#contracts';

/** The soft limit that a call was refused for, as a list of at most one. */
export function limitOfRefusal(result: ToolResult | null): LimitHit[] {
  switch (result?.kind === 'error' ? result.code : undefined) {
    case 'DELEGATION_LIMIT_REACHED':
      return ['delegation_limit'];
    case 'SOURCE_CAP_REACHED':
      return ['source_cap'];
    case 'BUDGET_EXHAUSTED':
      return ['credits'];
    default:
      return [];
  }
}
