import { isTerminal, RunStatus, type AttemptPlace, type DurableEventBody, type LiveFrame, type RunId, type TransientEventBody } from '#contracts';
import type { EventPosition, StoredEvent } from '#database';
import type { LiveAttempt } from '#domain';

/** What a reader is sent first: how long to wait before it comes back. */
export const OPENING_FRAME = 'retry: 2000\n\n';
/** What a reader is sent last when this process stops: another one is there at once, or soon. */
export const CLOSING_FRAME = 'retry: 500\n\n';
export const HEARTBEAT_FRAME = ': hb\n\n';

/** Raw line breaks can only stand between the members of stored JSON; inside strings they are escaped. They would end the frame's line. */
const LINE_BREAK = /[\r\n]/g;

/** A durable event as it travels. The stored JSON is not parsed again: the envelope is put in front of its members. */
export function durableFrame(runId: RunId, event: StoredEvent): string {
  const members = event.body.slice(event.body.indexOf('{') + 1).replace(LINE_BREAK, ' ');
  return `id: ${event.seq}\nevent: ${event.type}\ndata: {"run_id":"${runId}","seq":${event.seq},"at":"${event.at.toISOString()}",${members}\n\n`;
}

/** The attempt under way, whole. Live frames are lost with their reader, and so have no id to come back to. */
export const attemptFrame = (runId: RunId, { turn, attempt, revision, startedAfterSeq, nextIndex, parts }: LiveAttempt): string =>
  unnumberedFrame(runId, { type: 'attempt', turn, attempt, revision, index: nextIndex, started_after_seq: startedAfterSeq, parts }, new Date());

/** A text of the attempt under way, or its end. */
export function liveTextFrame(runId: RunId, frame: Exclude<LiveFrame, { type: 'baseline' }>): string {
  const { turn, attempt, revision, index } = frame;
  const place = { turn, attempt, revision, index };
  const body: TransientEventBody = frame.type === 'end' ? { type: 'attempt_end', ...place, outcome: frame.outcome } : { type: frame.type, content: frame.content, ...place };
  return unnumberedFrame(runId, body, new Date());
}

export const gapFrame = (runId: RunId, after: number, next: number, at: Date): string => unnumberedFrame(runId, { type: 'gap', after, next }, at);

/** The end of a run, for a reader that has seen everything already. Without an id: it is a repetition. */
export const endedFrame = (runId: RunId, position: EventPosition): string =>
  unnumberedFrame(
    runId,
    {
      type: 'run_status',
      status: position.status,
      ...(position.stopReason === null ? {} : { stop_reason: position.stopReason }),
      ...(position.limitsHit.length === 0 ? {} : { limits_hit: position.limitsHit }),
    },
    position.endedAt ?? new Date(),
  );

const unnumberedFrame = (runId: RunId, body: DurableEventBody | TransientEventBody, at: Date): string =>
  `event: ${body.type}\ndata: ${JSON.stringify({ ...body, run_id: runId, at: at.toISOString() })}\n\n`;

/** Whether a stored event is the last one of its run. */
export function endsRun(event: StoredEvent): boolean {
  if (event.type !== 'run_status') return false;
  const { status } = JSON.parse(event.body) as { status: unknown };
  const parsed = RunStatus.safeParse(status);
  return parsed.success && isTerminal(parsed.data);
}

/** The root run's own attempt that a stored event settles, or null. */
export function settledPlace(event: StoredEvent): AttemptPlace | null {
  if (event.type !== 'settlement') return null;
  const { role, turn, attempt } = JSON.parse(event.body) as Partial<AttemptPlace> & { role?: unknown };
  return role === 'supervisor' && turn !== undefined && attempt !== undefined ? { turn, attempt } : null;
}
