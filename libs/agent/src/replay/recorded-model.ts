import { QuaestorError, type ErrorCode, type ModelChunk } from '#contracts';
import { expandAssistantStream, RENDERER_VERSION, type LanguageModel, type ModelRequest, type RecordedAttempt } from '#domain';
import { promptSha256 } from '../prompt-hash.ts';
import { unusableAnswer } from '../attempt.ts';
import type { ReplayState } from './replay-state.ts';

/** A model that gives the recorded answers: chunk by chunk, each at its recorded time, with the recorded end. */
export class RecordedModel implements LanguageModel {
  readonly id = 'record';
  readonly host = 'record';
  readonly #state: ReplayState;

  constructor(state: ReplayState) {
    this.#state = state;
  }

  async stream(request: ModelRequest, onChunk: (chunk: ModelChunk) => void): Promise<void> {
    const state = this.#state;
    state.go();
    const attempt = state.next;
    if (!attempt) return state.recordIsOver('another model call');
    if (attempt.outcome === 'lost') return this.#die();
    this.#checkPrompt(request, attempt);
    const records: unknown = attempt.stream === null ? [] : JSON.parse(attempt.stream);
    for (const { time, chunk } of expandAssistantStream(records as unknown[])) {
      state.nowMs = time;
      onChunk(chunk);
    }
    state.nextId = attempt.id;
    this.#end(attempt);
  }

  /** The process that made this call died: the loop lets go, and the next claim finds the attempt lost, as it was. */
  #die(): never {
    const state = this.#state;
    state.position++;
    const lost = new QuaestorError('LEASE_LOST', 'The process that made this model call ended before it settled.');
    state.abort.abort(lost);
    throw lost;
  }

  #checkPrompt({ messages, tools }: ModelRequest, attempt: RecordedAttempt): void {
    if (!attempt.prompt || attempt.rendererVersion !== RENDERER_VERSION) return void this.#state.promptsUnchecked++;
    this.#state.check('prompt (SHA-256)', attempt.prompt.sha256, promptSha256(messages, tools), { attempt });
    this.#state.promptsChecked++;
  }

  #end(attempt: RecordedAttempt): void {
    const state = this.#state;
    const { outcome, error } = attempt;
    if (outcome === 'interrupted' || outcome === 'cancelled') {
      const cancelled = new QuaestorError('RUN_CANCELLED', error?.message ?? 'The run was cancelled.');
      state.abort.abort(cancelled);
      throw cancelled;
    }
    if (!error || error.message === unusableAnswer(error.code as ErrorCode).message) return;
    const { stopReason } = state.record;
    const wasLast = state.stopsBefore(state.position + 1);
    if (wasLast && stopReason === 'deadline_reached') state.meetDeadline();
    const endedTheRun = wasLast && (stopReason === 'provider_failed' || stopReason === 'internal_error');
    throw new QuaestorError(error.code as ErrorCode, error.message, { retryable: !endedTheRun });
  }
}
