import type { Socket } from 'node:net';
import { argumentText, countTokens, wholeAnswer, type PreparedAnswer } from './answer-stream.ts';
import { EVENT_STREAM_HEAD, httpChunk, LAST_CHUNK, sendJson } from './http-answers.ts';
import type { Fault, ScriptedAnswer } from './script.ts';
import type { TimerQueue } from './timer-queue.ts';

/** Sends a scripted answer, faults included. `done` is called once, when the model is finished with it or the client has gone. */
export function sendAnswer(socket: Socket, prepared: PreparedAnswer, isStreamed: boolean, timers: TimerQueue, done: () => void): void {
  const { answer } = prepared;
  if (answer.fault?.kind === 'status') {
    sendStatusFault(socket, answer.fault);
    return done();
  }
  if (isStreamed) return sendStream(socket, prepared, timers, done);
  const waitMs = (answer.firstChunkDelayMs ?? 0) + (answer.chunkDelayMs ?? 0) * countTokens(answer);
  const finish = (): void => {
    if (answer.fault === undefined) sendJson(socket, wholeAnswer(prepared));
    else if (answer.fault.kind !== 'stall') socket.destroy();
    done();
  };
  if (waitMs === 0) finish();
  else timers.after(waitMs, performance.now(), finish);
}

function sendStatusFault(socket: Socket, fault: Extract<Fault, { kind: 'status' }>): void {
  const retry = fault.retryAfterSeconds === undefined ? '' : `retry-after: ${fault.retryAfterSeconds}\r\n`;
  const error = { message: fault.message ?? `scripted status ${fault.status}`, type: 'scripted', code: fault.code ?? null, param: null };
  sendJson(socket, { error }, fault.status, retry);
}

function sendStream(socket: Socket, prepared: PreparedAnswer, timers: TimerQueue, done: () => void): void {
  const { events, ending } = applyFault([...(prepared.answer.rawEvents ?? prepared.events(prepared))], prepared.answer);
  const delayMs = prepared.answer.chunkDelayMs ?? 0;
  const firstDelayMs = prepared.answer.firstChunkDelayMs ?? 0;
  if (delayMs === 0 && firstDelayMs === 0) {
    let bytes = EVENT_STREAM_HEAD;
    for (const event of events) bytes += httpChunk(event);
    socket.write(ending === 'end' ? bytes + LAST_CHUNK : bytes);
    return endStream(socket, ending, done);
  }
  socket.write(EVENT_STREAM_HEAD);
  let next = 0;
  const step = (dueMs: number): void => {
    if (socket.destroyed) return;
    // [DONE] rides with the last event, as vendors send it
    const isLast = next >= events.length - 2;
    prepared.onWrite();
    socket.write(isLast ? events.slice(next).map(httpChunk).join('') + (ending === 'end' ? LAST_CHUNK : '') : httpChunk(events[next++]!));
    if (!isLast) return timers.after(delayMs, dueMs, step);
    endStream(socket, ending, done);
  };
  timers.after(firstDelayMs + delayMs, performance.now(), step);
}

type Ending = 'end' | 'close' | 'stay-open';

/** A stream that stays open is over when its client goes. */
function endStream(socket: Socket, ending: Ending, done: () => void): void {
  if (ending === 'close') socket.end();
  if (ending !== 'stay-open') done();
}

/** The events that are really sent, and how the stream ends after them. */
function applyFault(events: string[], answer: ScriptedAnswer): { events: string[]; ending: Ending } {
  const { fault } = answer;
  if (fault === undefined || fault.kind === 'status') return { events, ending: 'end' };
  if (fault.kind === 'cut-arguments') return { events: events.slice(0, eventsUpToHalfOfFirstCall(events, answer)), ending: 'close' };
  const before = events.slice(0, Math.min(fault.afterChunks + 1, events.length - 2));
  switch (fault.kind) {
    case 'cut':
      return { events: before, ending: 'close' };
    case 'stall':
      return { events: before, ending: 'stay-open' };
    case 'garbage':
      return { events: [...before, 'data: {"choices": [\u0001 not json\n\n'], ending: 'close' };
    case 'error-chunk':
      return { events: [...before, `data: ${JSON.stringify({ error: { message: fault.message, type: 'server_error', code: 500 } })}\n\n`], ending: 'end' };
  }
}

function eventsUpToHalfOfFirstCall(events: readonly string[], answer: ScriptedAnswer): number {
  const firstCallEvent = events.findIndex((event) => event.includes('"tool_calls":[{"index":0'));
  if (firstCallEvent < 0) return 1;
  const first = answer.calls?.[0];
  return firstCallEvent + 1 + Math.ceil((first === undefined ? 0 : argumentText(first).length) / 10);
}
