import { isTerminal, type AttemptId, type ToolCallId } from '#contracts';
import type { CallRecord, RecordedAttempt, RecordedRun } from '#domain';
import { compareValues, type ReplayDifference } from './difference.ts';

/** Ends a replay from inside the loop, which has nothing that would hold it back: a difference was found, or the record goes no further. */
export class ReplayStopped extends Error {}

/** Beyond any deadline: a replayed clock jumps here when the record says that the deadline ended the run. */
const FAR_MS = 10 ** 12;

/**
 * How far the replay of one run has come, and what the world outside it - clock, ledger, people, other processes - is to say next. Those
 * facts are not rows: they are read off the place where the record ends.
 */
export class ReplayState {
  readonly record: RecordedRun;
  readonly attempts: readonly RecordedAttempt[];
  readonly calls: ReadonlyMap<ToolCallId, CallRecord>;
  /** Position of the next recorded attempt. */
  position: number;
  settledTurn: number;
  /** Calls with a result, and those of them that have a tool message. */
  readonly settled = new Set<ToolCallId>();
  readonly closed = new Set<ToolCallId>();
  nowMs: number;
  /** The id that the loop's next one has to be, set when a model call is over. */
  nextId: AttemptId | null = null;
  abort = new AbortController();
  difference: ReplayDifference | null = null;
  hasEnded = false;
  promptsChecked = 0;
  promptsUnchecked = 0;

  constructor(record: RecordedRun) {
    this.record = record;
    this.nowMs = record.loaded.run.createdAtMs;
    this.settledTurn = record.forkedTurn;
    this.calls = new Map(record.loaded.calls.map((call) => [call.toolCallId, call]));
    this.attempts = withUnbegun(record.attempts);
    this.position = this.attempts.filter(({ turn }) => turn <= record.forkedTurn).length;
    for (const { toolCallId } of record.loaded.calls.filter(({ turn, inherited }) => inherited || turn <= record.forkedTurn)) {
      this.settled.add(toolCallId);
      this.closed.add(toolCallId);
    }
  }

  get next(): RecordedAttempt | undefined {
    return this.attempts[this.position];
  }

  /** True when the run made no ordinary model call after the attempt at `position`, and has ended. */
  stopsBefore(position: number): boolean {
    return isTerminal(this.record.status) && (this.attempts[position]?.finishing ?? true);
  }

  /** What ended the run from outside its history, once there is nothing left of it. */
  get outside(): { cancelled: boolean; overrun: boolean; deadline: boolean } {
    const stops = this.stopsBefore(this.position);
    const { stopReason } = this.record;
    return { cancelled: stops && stopReason === 'cancelled', overrun: stops && stopReason === 'budget_exhausted', deadline: stops && stopReason === 'deadline_reached' };
  }

  /** Somebody else ended the run while nobody held it, or it could not be carried on: the loop, which looks for citations, had no part in its end. */
  get endedElsewhere(): boolean {
    const { status, stopReason, citations, error, loaded } = this.record;
    if (!isTerminal(status) || stopReason === 'internal_error') return true;
    return stopReason === 'cancelled' && (loaded.run.role === 'supervisor' ? citations === null : error === null);
  }

  get farMs(): number {
    return FAR_MS;
  }

  meetDeadline(): void {
    this.nowMs = this.record.loaded.run.createdAtMs + 2 * FAR_MS;
  }

  /** @throws ReplayStopped with the first difference kept; later ones are only consequences */
  check(what: string, recorded: unknown, replayed: unknown, place: { attempt?: RecordedAttempt | undefined; toolCallId?: ToolCallId } = {}): void {
    const found = compareValues(recorded, replayed);
    if (!found) return this.go();
    const { run } = this.record.loaded;
    const { attempt = this.next, toolCallId = null } = place;
    const turn = (toolCallId && this.calls.get(toolCallId)?.turn) || attempt?.turn || this.settledTurn;
    this.difference ??= { runId: run.id, worker: run.workerNumber, turn, attempt: toolCallId ? null : (attempt?.attempt ?? null), toolCallId, what, ...found };
    throw new ReplayStopped(what);
  }

  /** The loop takes what a port throws for a failure of that port: nothing of it may go on after a difference. */
  go(): void {
    if (this.difference) throw new ReplayStopped(this.difference.what);
  }

  /** The loop let go without a step that the record knows. */
  giveUp(): void {
    try {
      this.check('next step', this.record.stopReason ?? this.record.status, 'no step at all', { attempt: undefined });
    } catch (error) {
      if (!(error instanceof ReplayStopped)) throw error;
    }
  }

  /** The record holds nothing further: fine when it ends here for reasons of its own, else a difference. */
  recordIsOver(wanted: string): never {
    if (!this.endedElsewhere) this.check('next step', `the run ended: ${this.record.stopReason}`, wanted, { attempt: undefined });
    this.hasEnded = true;
    const stopped = new ReplayStopped('the record ends here');
    this.abort.abort(stopped);
    throw stopped;
  }
}

/**
 * Attempts with those in between that have no row: they were reserved, and handed over by a draining process before they began. To the
 * loop that is the same as an attempt that was lost.
 */
function withUnbegun(attempts: readonly RecordedAttempt[]): RecordedAttempt[] {
  const whole: RecordedAttempt[] = [];
  for (const attempt of attempts) {
    const before = whole.at(-1);
    const first = before?.turn === attempt.turn ? before.attempt + 1 : 1;
    for (let number = first; number < attempt.attempt; number++) whole.push({ ...attempt, attempt: number, kind: 'attempt', outcome: 'lost', finishing: false });
    whole.push(attempt);
  }
  return whole;
}
