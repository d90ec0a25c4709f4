import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client } from '#client';
import { isTerminal, type EventEnvelope, type RunId, type RunStatus } from '#contracts';
import type { SpawnedModelServer } from '#testing';
import type { RunKind } from './kinds.ts';

/** One question that was put, as its asker knows it. */
export interface AskedRun {
  token: string;
  kind: RunKind;
  /** Set by a 2xx answer: from then on the engine owes its end. */
  id: RunId | null;
  /** Of every try; null is a connection that broke before an answer. */
  answers: (number | null)[];
  /** What its event stream said last; null when it was not followed to the end. */
  lastStatus: RunStatus | null;
  /** The first thing that was wrong with its event stream. */
  streamProblem: string | null;
  isOver: boolean;
}

/** Limits no run of a storm may meet. */
const LIMITS = { budget_credits: 100_000, deadline_seconds: 3_600, source_cap: 1_000, workers: 8 };
const RETRY_MS = 150;
const LOOK_EVERY_MS = 60;
/** As the script `stalled` plays it. */
const STALLED_WORKERS = 2;
const SILENT_TURN = 2;
const SILENT_AFTER_MS = 100;

export interface AskerOptions {
  url: string;
  apiKey: string;
  model: SpawnedModelServer;
  /** Ends every follower; a run is then judged by its rows alone. */
  signal: AbortSignal;
}

/** Puts questions, remembers what was promised, follows events and cancels what waits to be cancelled. */
export class Asker {
  readonly asked: AskedRun[] = [];
  readonly #options: AskerOptions;
  readonly #client: Client;
  readonly #open = new Set<Promise<void>>();

  constructor(options: AskerOptions) {
    this.#options = options;
    this.#client = createClient({ baseUrl: options.url, apiKey: options.apiKey });
  }

  get inFlight(): number {
    return this.#open.size;
  }

  get over(): number {
    return this.asked.filter(({ isOver }) => isOver).length;
  }

  ask(kind: RunKind, token: string): AskedRun {
    const run: AskedRun = { token, kind, id: null, answers: [], lastStatus: null, streamProblem: null, isOver: false };
    this.asked.push(run);
    const story = this.#play(run).finally(() => this.#open.delete(story));
    this.#open.add(story);
    return run;
  }

  /** Waits for everything that was asked. */
  async settled(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #play(run: AskedRun): Promise<void> {
    await this.#submit(run);
    if (run.id === null) return;
    const cancelled = run.kind.isCancelled ? this.#cancel(run.id, run.token) : undefined;
    await this.#follow(run, run.id);
    await cancelled;
    run.isOver = true;
  }

  /** One question, one key: a try whose answer was lost may have landed, and its repeat must find it. */
  async #submit(run: AskedRun): Promise<void> {
    const body = JSON.stringify({ question: `Storm: what is known? ${run.kind.script} run.${run.token}`, ...LIMITS });
    const headers = { authorization: `Bearer ${this.#options.apiKey}`, 'content-type': 'application/json', 'idempotency-key': `storm-${run.token}` };
    while (run.id === null && !this.#options.signal.aborted) {
      try {
        const response = await fetch(`${this.#options.url}/v1/runs`, { method: 'POST', headers, body });
        run.answers.push(response.status);
        const answer = (await response.json()) as { id?: RunId };
        if (response.ok) run.id = answer.id ?? null;
      } catch {
        run.answers.push(null);
      }
      if (run.id === null) await delay(RETRY_MS);
    }
  }

  async #follow(run: AskedRun, id: RunId): Promise<void> {
    const { signal } = this.#options;
    let lastSeq = 0;
    while (!signal.aborted) {
      try {
        for await (const event of this.#client.events(id, { signal, after: lastSeq })) lastSeq = noteEvent(run, event, lastSeq);
        if (run.lastStatus !== null && isTerminal(run.lastStatus)) return;
        if (!signal.aborted) run.streamProblem ??= 'the stream ended before the run';
      } catch {
        // the gateway was away for longer than a client waits: this one comes back
        await delay(RETRY_MS);
      }
    }
  }

  async #cancel(id: RunId, token: string): Promise<void> {
    while (!this.#options.signal.aborted && !(await this.#areWorkersSilent(token))) await delay(LOOK_EVERY_MS);
    while (!this.#options.signal.aborted) {
      try {
        await this.#client.cancelRun(id);
        return;
      } catch {
        await delay(RETRY_MS);
      }
    }
  }

  async #areWorkersSilent(token: string): Promise<boolean> {
    const requests = await this.#options.model.requests(token);
    const silentSinceMs = performance.timeOrigin + performance.now() - SILENT_AFTER_MS;
    const silent = requests.filter(({ worker, turn, startMs, endMs }) => worker > 0 && turn === SILENT_TURN && endMs === null && startMs < silentSinceMs);
    return new Set(silent.map(({ worker }) => worker)).size >= STALLED_WORKERS;
  }
}

/** Durable events come once and in order, over any number of connections. Gives the last number seen. */
function noteEvent(run: AskedRun, event: EventEnvelope, lastSeq: number): number {
  if (event.type === 'run_status') run.lastStatus = event.status;
  if (event.seq === undefined) return lastSeq;
  if (event.seq <= lastSeq) run.streamProblem ??= `event ${event.seq} came after ${lastSeq}`;
  return event.seq;
}
