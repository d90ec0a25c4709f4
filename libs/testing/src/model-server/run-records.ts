import type { WireRequest } from './wire-types.ts';

/** What one role of a run sent. */
export interface RoleRecord {
  requests: number;
  /** Request bodies in bytes: the sum and the largest. */
  bytes: number;
  peakBytes: number;
  /** Of them those that a prompt cache could serve: tools and leading messages that are the same as in the request before. Counted with `u1`. */
  cacheableBytes: number;
}

/** What the server saw of one run. Times are epoch milliseconds with fractions. */
export interface RunRecord {
  id: string;
  firstMs: number;
  lastMs: number;
  /** Length of the union of all intervals in which at least one model or web request of this run was open. */
  busyMs: number;
  modelRequests: number;
  webRequests: number;
  bytesIn: number;
  webBytesOut: number;
  outputTokens: number;
  /** Requests refused for breaking the protocol; the first reason stands in `firstProblem`. */
  protocolProblems: number;
  firstProblem: string | null;
  /** Streams the client closed before their end. */
  aborted: number;
  roles: Record<string, RoleRecord>;
  /** Bytes of the distinct messages of all its requests; counted only when the question says `u1`. */
  distinctBytes: number;
}

interface Entry {
  record: RunRecord;
  open: number;
  busySinceMs: number;
  seen: Set<string>;
  /** What each conversation of the run was sent last, part by part. */
  sent: Map<string, string[]>;
}

const nowMs = (): number => performance.timeOrigin + performance.now();

/** The server's memory of runs; nothing in it decides an answer. */
export class RunRecords {
  readonly #entries = new Map<string, Entry>();

  /** Opens an interval of a run; call the returned function once when it ends. */
  open(runId: string): { record: RunRecord; close: () => void } {
    const entry = this.#entry(runId);
    const startedMs = nowMs();
    entry.record.firstMs ||= startedMs;
    if (entry.open++ === 0) entry.busySinceMs = startedMs;
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      entry.record.lastMs = nowMs();
      if (--entry.open === 0) entry.record.busyMs += entry.record.lastMs - entry.busySinceMs;
    };
    return { record: entry.record, close };
  }

  noteRole(record: RunRecord, role: string, bytes: number): void {
    const kept = (record.roles[role] ??= { requests: 0, bytes: 0, peakBytes: 0, cacheableBytes: 0 });
    kept.requests++;
    kept.bytes += bytes;
    kept.peakBytes = Math.max(kept.peakBytes, bytes);
  }

  noteDistinct(runId: string, messages: readonly unknown[]): void {
    const { seen, record } = this.#entry(runId);
    for (const message of messages) {
      const text = JSON.stringify(message);
      if (seen.has(text)) continue;
      seen.add(text);
      record.distinctBytes += Buffer.byteLength(text);
    }
  }

  /** Compares a request with the one before it in the same conversation. Call it after `noteRole`. */
  noteCacheable(runId: string, role: string, conversation: string, { messages, tools }: WireRequest): void {
    const { sent, record } = this.#entry(runId);
    const parts = [JSON.stringify(tools ?? []), ...messages.map((message) => JSON.stringify(message))];
    const before = sent.get(conversation) ?? [];
    const changedAt = parts.findIndex((part, index) => part !== before[index]);
    const same = changedAt < 0 ? parts : parts.slice(0, changedAt);
    sent.set(conversation, parts);
    const kept = record.roles[role];
    if (kept) kept.cacheableBytes += same.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  }

  list(): RunRecord[] {
    return [...this.#entries.values()].map((entry) => entry.record);
  }

  clear(): void {
    this.#entries.clear();
  }

  #entry(runId: string): Entry {
    const known = this.#entries.get(runId);
    if (known !== undefined) return known;
    const entry = { record: emptyRecord(runId), open: 0, busySinceMs: 0, seen: new Set<string>(), sent: new Map<string, string[]>() };
    this.#entries.set(runId, entry);
    return entry;
  }
}

const emptyRecord = (id: string): RunRecord => ({
  id,
  firstMs: 0,
  lastMs: 0,
  busyMs: 0,
  modelRequests: 0,
  webRequests: 0,
  bytesIn: 0,
  webBytesOut: 0,
  outputTokens: 0,
  protocolProblems: 0,
  firstProblem: null,
  aborted: 0,
  roles: {},
  distinctBytes: 0,
});
