import { isObject, refuseSession, type SessionEvent } from './session-types.ts';

interface Retry {
  chain: string;
  place: string;
  retry: number;
  isStarted: boolean;
}

/** The retries of model calls while an artifact is read: each chain has one id and counts from 1, and each of its retries starts at most once. */
export class SessionRetries {
  /** The newest retry of each id. */
  readonly #newest = new Map<unknown, Retry>();
  /** Id of each chain: one policy for one provider in one step. */
  readonly #ids = new Map<string, unknown>();
  #provider: unknown;

  /** Takes the next event. Throws `SESSION_INVALID`. */
  push(event: SessionEvent): void {
    switch (event.type) {
      case 'request/header': {
        const { header } = event.data;
        this.#provider = isObject(header) && isObject(header['config']) ? header['config']['provider'] : undefined;
        return;
      }
      case 'llm/retry':
        return this.#schedule(event);
      case 'llm/retry-started':
        return this.#start(event);
      default:
    }
  }

  #schedule({ seq, data }: SessionEvent): void {
    const { retryId, retry, provider, policyKey } = data;
    if (this.#provider !== undefined && provider !== this.#provider) refuseSession(seq + 2, `(llm/retry) names the provider ${JSON.stringify(provider)}, but the request went to another`);
    const place = placeOf(data);
    const chain = JSON.stringify([place, provider, policyKey]);
    const known = this.#newest.get(retryId);
    const chainId = this.#ids.get(chain);
    if (known && known.chain !== chain) refuseSession(seq + 2, `(llm/retry) takes the retryId ${JSON.stringify(retryId)} of another chain`);
    if (!known && chainId !== undefined) refuseSession(seq + 2, '(llm/retry) changes the retryId of its chain');
    const expected = (known?.retry ?? 0) + 1;
    if (retry !== expected) refuseSession(seq + 2, `(llm/retry) is retry ${JSON.stringify(retry)} where ${expected} must stand`);
    this.#ids.set(chain, retryId);
    this.#newest.set(retryId, { chain, place, retry: expected, isStarted: false });
  }

  #start({ seq, data }: SessionEvent): void {
    const scheduled = this.#newest.get(data['retryId']);
    if (!scheduled || scheduled.retry !== data['retry'] || scheduled.isStarted) return refuseSession(seq + 2, '(llm/retry-started) starts a retry that was not scheduled, or that started before');
    if (scheduled.place !== placeOf(data)) refuseSession(seq + 2, '(llm/retry-started) starts a retry of another step');
    scheduled.isStarted = true;
  }
}

const placeOf = ({ turn, step }: SessionEvent['data']): string => `${String(turn)}.${String(step)}`;
