import { isObject, refuseSession, type SessionData, type SessionEvent } from './session-types.ts';

interface ToolCall {
  name: unknown;
  arguments: unknown;
  isStarted: boolean;
}

interface Dispatch {
  root: unknown;
  /** What its end must repeat, as JSON text. */
  facts: string;
  isSettled: boolean;
}

/**
 * The life of every tool call while an artifact is read: asked for by an answer, started at most once with the very same arguments, and given
 * one result before its step ends - unless the turn was broken off. A call that never started has no result but the error that says so. An
 * artifact of this engine keeps its calls as rows instead.
 */
export class SessionTools {
  readonly #calls = new Map<string, ToolCall>();
  readonly #dispatches = new Map<unknown, Dispatch>();
  #hasRowsOfItsOwn = false;
  /** A call without a result whose step is over: only the end of a turn that was broken off may follow. */
  #unresolved: string | null = null;

  /** Takes the next event. Throws `SESSION_INVALID`. */
  push(event: SessionEvent): void {
    this.#hasRowsOfItsOwn ||= event.type === 'quaestor/row';
    if (this.#hasRowsOfItsOwn) return;
    this.#requireResolved(event);
    switch (event.type) {
      case 'assistant/message':
        return this.#ask(event);
      case 'tool/call':
        return this.#start(event);
      case 'tool/result':
        return event.surfaceOp === 'append' ? this.#settle(event) : undefined;
      case 'tool/code-dispatch-start':
        return this.#startDispatch(event);
      case 'tool/code-dispatch':
        return this.#settleDispatch(event);
      case 'step/end':
      case 'turn/end':
        this.#unresolved ??= this.#calls.keys().next().value ?? null;
        this.#calls.clear();
        if (event.type === 'turn/end') this.#requireResolved(event);
        return;
      default:
    }
  }

  #requireResolved({ type, seq, data }: SessionEvent): void {
    if (this.#unresolved === null) return;
    const isBrokenOff = type === 'turn/end' && isObject(data['reason']) && data['reason']['kind'] !== 'completed';
    if (!isBrokenOff) refuseSession(seq + 2, `(${type}) comes after a step that left the tool call ${JSON.stringify(this.#unresolved)} without a result`);
    this.#unresolved = null;
  }

  #ask({ seq, data }: SessionEvent): void {
    const content = isObject(data['message']) ? data['message']['content'] : undefined;
    for (const block of Array.isArray(content) ? (content as unknown[]) : []) {
      if (!isObject(block) || block['type'] !== 'tool-call') continue;
      const id = String(block['id']);
      if (this.#calls.has(id)) refuseSession(seq + 2, `asks twice for the tool call ${JSON.stringify(id)}`);
      this.#calls.set(id, { name: block['name'], arguments: block['arguments'], isStarted: false });
    }
  }

  #start({ seq, data }: SessionEvent): void {
    const call = this.#calls.get(String(data['callId']));
    if (!call || call.isStarted || call.name !== data['name'] || call.arguments !== data['arguments']) {
      return refuseSession(seq + 2, `starts a tool call ${JSON.stringify(data['callId'])} that no answer of its step asked for in these words, or that runs already`);
    }
    call.isStarted = true;
  }

  #settle({ seq, data }: SessionEvent): void {
    const source = isObject(data['message']) ? data['message']['source'] : undefined;
    const id = String(isObject(source) ? source['callId'] : undefined);
    const call = this.#calls.get(id);
    if (!call) return refuseSession(seq + 2, `is the result of a tool call ${JSON.stringify(id)} that nobody waits for`);
    const saysNotStarted = isObject(data['error']) && data['error']['code'] === 'TOOL_NOT_STARTED';
    if (!call.isStarted && !saysNotStarted) refuseSession(seq + 2, `is the result of the tool call ${JSON.stringify(id)}, which never started`);
    this.#calls.delete(id);
  }

  #startDispatch({ seq, data }: SessionEvent): void {
    const { rootCallId: root, parentCallId: parent, subCallId: child } = data;
    if (this.#dispatches.has(child)) refuseSession(seq + 2, `dispatches ${JSON.stringify(child)} a second time`);
    if (parent !== root && this.#dispatches.get(parent)?.root !== root) refuseSession(seq + 2, `is dispatched by ${JSON.stringify(parent)}, which is not part of ${JSON.stringify(root)}`);
    this.#dispatches.set(child, { root, facts: factsOf(data), isSettled: false });
  }

  #settleDispatch({ seq, data }: SessionEvent): void {
    const dispatch = this.#dispatches.get(data['subCallId']);
    if (!dispatch || dispatch.isSettled || dispatch.facts !== factsOf(data)) return refuseSession(seq + 2, `settles ${JSON.stringify(data['subCallId'])}, which was not dispatched like that, or is settled already`);
    dispatch.isSettled = true;
    dispatch.facts = '';
  }
}

const factsOf = ({ rootCallId, parentCallId, name, arguments: given }: SessionData): string => JSON.stringify([rootCallId, parentCallId, name, given]);
