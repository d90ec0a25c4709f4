import { QuaestorError } from '#contracts';
import { parseSessionEnvelope } from './session-rows.ts';
import { isObject } from './session-types.ts';

/**
 * Finds the whole part of an artifact whose writer died: everything before its first broken row, unless a turn ended after that, for then what
 * is broken is not merely the end. Types and data of events are not looked at.
 */
export class SessionRecovery {
  #rows = 0;
  #fault: QuaestorError | null = null;

  /** Why the artifact ends early; null when it does not. */
  get fault(): QuaestorError | null {
    return this.#fault;
  }

  /**
   * Takes the next row, the header first; `read` gives it, or throws for one that cannot be read. Returns the row while all is whole.
   * @throws QuaestorError `SESSION_INVALID` for a header that cannot be read, and for the end of a turn after the first broken row
   */
  push(read: () => unknown): { value: unknown } | null {
    const position = this.#rows++;
    try {
      const value = read();
      if (this.#fault) {
        if (isObject(value) && value['type'] === 'turn/end') throw this.#fault;
        return null;
      }
      if (position > 0) parseSessionEnvelope(value, position - 1);
      return { value };
    } catch (error) {
      if (!(error instanceof QuaestorError) || position === 0 || error === this.#fault) throw error;
      this.#fault ??= error;
      return null;
    }
  }
}
