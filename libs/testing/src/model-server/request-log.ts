import { taskNumber, type ScriptRequest } from './script.ts';
import type { WireRequest } from './wire-types.ts';

/** One request as it came, for comparing what was asked with what was settled. Times are epoch milliseconds with fractions. */
export interface LoggedRequest {
  /** Token of the root run. */
  run: string;
  /** The worker's number, from 1; 0 for the supervisor and for the fixture web, which knows neither. */
  worker: number;
  /** The turn a model request asks for, from 1; 0 for the fixture web. */
  turn: number;
  /** Query or address of a web request. */
  target: string | null;
  startMs: number;
  /** Null while it is being answered. */
  endMs: number | null;
  /** False when the client went away before the end. */
  isAnswered: boolean;
}

/** When the paced events of an answer were written, in order, on the monotonic clock all processes of a machine share. */
export type WriteTimes = number[];

const sharedNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const nowMs = (): number => performance.timeOrigin + performance.now();

/** Every request in order; kept only when asked for, as it grows without a bound. */
export class RequestLog {
  readonly #entries: LoggedRequest[] = [];
  readonly #writes = new Map<LoggedRequest, WriteTimes>();
  readonly #timesAsked = new Map<string, number>();

  /** Notes a model request, and how often its turn was asked for before. */
  model(seen: ScriptRequest, wire: WireRequest): { entry: LoggedRequest; timesAsked: number } {
    const worker = seen.role === 'worker' ? taskNumber(seen) + 1 : 0;
    const turn = wire.messages.filter((message) => message.role === 'assistant').length + 1;
    const place = `${seen.runId}/${worker}/${turn}`;
    const timesAsked = this.#timesAsked.get(place) ?? 0;
    this.#timesAsked.set(place, timesAsked + 1);
    return { entry: this.#add({ run: seen.runId, worker, turn, target: null }), timesAsked };
  }

  /** Notes a web request, which is answered at once. */
  web(run: string, target: string): void {
    this.end(this.#add({ run, worker: 0, turn: 0, target }), true);
  }

  /** Notes that the next event of a paced answer is written now. */
  written(entry: LoggedRequest): void {
    const times = this.#writes.get(entry);
    if (times) times.push(sharedNowMs());
    else this.#writes.set(entry, [sharedNowMs()]);
  }

  /** Of each paced answer of a run, in the order of the requests. */
  writes(run: string | null): WriteTimes[] {
    return this.list(run).flatMap((entry) => [this.#writes.get(entry) ?? []]);
  }

  end(entry: LoggedRequest, isAnswered: boolean): void {
    entry.endMs = nowMs();
    entry.isAnswered = isAnswered;
  }

  /** All of them, or those of one run. */
  list(run: string | null): readonly LoggedRequest[] {
    return run === null ? this.#entries : this.#entries.filter((entry) => entry.run === run);
  }

  #add(request: Pick<LoggedRequest, 'run' | 'worker' | 'turn' | 'target'>): LoggedRequest {
    const entry = { ...request, startMs: nowMs(), endMs: null, isAnswered: false };
    this.#entries.push(entry);
    return entry;
  }
}
