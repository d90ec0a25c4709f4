import { ERROR_CODES, SAME_CALL_STOPS_AT, SAME_CALL_WARNS_AT, type ErrorCode, type ToolResult } from '#contracts';
import type { ToolPorts, ToolSpec } from '../ports/tool.ts';

/** What becomes of a call that may have been made before. */
export type RepeatVerdict = { kind: 'execute' } | { kind: 'answer'; result: ToolResult } | { kind: 'duplicate' } | { kind: 'warn' } | { kind: 'stop' };

interface Seen {
  /** Answers of the model that made this call. */
  answers: number;
  lastTurn: number;
  result: ToolResult | null;
  /** A look at the scratchpad. */
  isLook: boolean;
}

/** A call with a place in the run; `identity` is `callIdentity`. */
export interface SeenCall {
  identity: string;
  turn: number;
  spec: ToolSpec;
  args: unknown;
}

const EXECUTE: RepeatVerdict = { kind: 'execute' };

/** Two calls with one identity ask for the same: arguments in any order of members, addresses in canonical form, queries in any letter case. */
export function callIdentity(spec: ToolSpec, args: unknown, ports: ToolPorts): string {
  return `${spec.name} ${spec.identity?.(args, ports) ?? canonicalJson(args)}`;
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.sort(([left], [right]) => (left < right ? -1 : 1)).map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/**
 * Counts how often a run makes the same call. The second time it is answered from the record, the third time warned of, the fourth time the
 * run stops; different calls, however many, are no loop. Calls are counted once per answer of the model. Looking at the scratchpad again
 * is a repeat only while nothing else happens in between.
 */
export class RepeatedCalls {
  readonly #seen = new Map<string, Seen>();

  judge({ identity, turn, spec, args }: SeenCall): RepeatVerdict {
    const isLook = spec.effect === 'scratchpad-read';
    if (!isLook) this.#forgetLooks(turn);
    const seen = this.#seen.get(identity);
    if (!seen) {
      this.#seen.set(identity, { answers: 1, lastTurn: turn, result: null, isLook });
      return EXECUTE;
    }
    if (seen.lastTurn === turn) return { kind: 'duplicate' };
    seen.answers++;
    seen.lastTurn = turn;
    if (seen.answers >= SAME_CALL_STOPS_AT) return { kind: 'stop' };
    if (seen.answers >= SAME_CALL_WARNS_AT) return { kind: 'warn' };
    if (seen.result === null || spec.mayDiffer?.(args) || mayBeTriedAgain(spec, seen.result)) return EXECUTE;
    return spec.effect === 'scratchpad-write' ? { kind: 'duplicate' } : { kind: 'answer', result: seen.result };
  }

  /** Remembers what a call ended with. */
  keep(identity: string, result: ToolResult): void {
    const seen = this.#seen.get(identity);
    if (seen && !(result.kind === 'error' && result.code === 'CALL_REPEATED')) seen.result = result;
  }

  /** What an earlier run of the chain found out: answered from the record, and no repeat of this run's. */
  inherit(identity: string, result: ToolResult): void {
    this.#seen.set(identity, { answers: 0, lastTurn: 0, result, isLook: false });
  }

  /** True when a call has been made so often that the run has to stop. */
  get isLoop(): boolean {
    return [...this.#seen.values()].some(({ answers }) => answers >= SAME_CALL_STOPS_AT);
  }

  #forgetLooks(turn: number): void {
    for (const [identity, seen] of this.#seen) if (seen.isLook && seen.lastTurn < turn) this.#seen.delete(identity);
  }
}

/** A failure that may pass is worth its price again; a task always is, because its worker starts afresh from the findings so far. */
function mayBeTriedAgain(spec: ToolSpec, result: ToolResult): boolean {
  if (result.kind !== 'error') return false;
  if (spec.price === null || result.code === 'BUDGET_EXHAUSTED') return true;
  return (ERROR_CODES as Partial<Record<string, (typeof ERROR_CODES)[ErrorCode]>>)[result.code]?.retryable ?? true;
}
