import { assertNever, type ModelChunk, type StreamRecord } from '#contracts';
import { freezeLosslessJson } from './lossless-json.ts';
import { isBlockIndex, isExactGap } from './numbers.ts';

type DeltaChunk = Extract<ModelChunk, { type: 'text-delta' | 'reasoning-delta' | 'tool-call-delta' }>;
type ToolCallDelta = Extract<ModelChunk, { type: 'tool-call-delta' }>;

/** The run that still grows. Only the newest record can; all earlier ones are frozen. */
interface OpenRun {
  type: Exclude<StreamRecord['type'], 'chunk'>;
  index: number;
  id: string;
  name: string | undefined;
  time0: number;
  lastTime: number;
  dt: number[];
  members: string[];
}

const requireMembers = (chunk: DeltaChunk, count: number): void => {
  if (Object.keys(chunk).length !== count) throw new TypeError(`a ${chunk.type} chunk has a member that its record cannot keep`);
  if (!isBlockIndex(chunk.index)) throw new TypeError(`a ${chunk.type} chunk needs a non-negative integer index`);
};

const requireString = (value: unknown, chunk: DeltaChunk, member: string): void => {
  if (typeof value !== 'string') throw new TypeError(`member ${member} of a ${chunk.type} chunk must be a string`);
};

const freezeText = (chunk: Exclude<DeltaChunk, ToolCallDelta>): Exclude<DeltaChunk, ToolCallDelta> => {
  requireMembers(chunk, 3);
  requireString(chunk.text, chunk, 'text');
  return Object.freeze({ type: chunk.type, index: chunk.index, text: chunk.text });
};

const freezeToolCall = (chunk: ToolCallDelta): ToolCallDelta => {
  const { type, index, id, name, argumentsDelta } = chunk;
  const named = 'name' in chunk;
  requireMembers(chunk, named ? 5 : 4);
  requireString(id, chunk, 'id');
  requireString(argumentsDelta, chunk, 'argumentsDelta');
  if (!named) return Object.freeze({ type, index, id, argumentsDelta });
  requireString(name, chunk, 'name');
  return Object.freeze({ type, index, id, name, argumentsDelta });
};

const seal = (run: OpenRun, dt: number[], members: string[]): StreamRecord => {
  const { type, time0, index } = run;
  Object.freeze(dt);
  Object.freeze(members);
  if (type !== 'tool-call-chunks') return Object.freeze({ type, time0, index, dt, texts: members });
  const head = run.name === undefined ? { id: run.id } : { id: run.id, name: run.name };
  return Object.freeze({ type, time0, index, dt, ...head, args: members });
};

/**
 * Compacts the chunks of one attempt while they arrive: consecutive deltas of one block grow one record that keeps every boundary and
 * every time gap. Rows grow with blocks, not with tokens.
 */
export class AssistantStreamAccumulator {
  readonly #closed: StreamRecord[] = [];
  #open: OpenRun | undefined;

  /**
   * Adds a chunk that arrived at `time` (epoch milliseconds, any safe integer) and returns a frozen copy that shares nothing with the
   * argument; assembler and live frames take that copy. Throws `TypeError` for a time or a chunk that could not be kept without loss;
   * nothing is added then.
   */
  push(time: number, chunk: ModelChunk): ModelChunk {
    if (!Number.isSafeInteger(time)) throw new TypeError('the time of a chunk must be a safe integer of milliseconds');
    switch (chunk.type) {
      case 'text-delta':
      case 'reasoning-delta': {
        const frozen = freezeText(chunk);
        this.#extend(time, frozen.type === 'text-delta' ? 'text-chunks' : 'reasoning-chunks', frozen.index, '', undefined, frozen.text);
        return frozen;
      }
      case 'tool-call-delta': {
        const frozen = freezeToolCall(chunk);
        if (frozen.id === '' || frozen.name === '') this.#append(time, frozen);
        else this.#extend(time, 'tool-call-chunks', frozen.index, frozen.id, frozen.name, frozen.argumentsDelta);
        return frozen;
      }
      case 'block-start':
      case 'block-end':
      case 'usage':
      case 'finish': {
        const frozen = freezeLosslessJson(chunk);
        this.#append(time, frozen);
        return frozen;
      }
      default:
        return assertNever(chunk);
    }
  }

  /** All records so far, deep-frozen. Later pushes do not change it. */
  snapshot(): readonly StreamRecord[] {
    const open = this.#open;
    return Object.freeze(open === undefined ? this.#closed.slice() : [...this.#closed, seal(open, open.dt.slice(), open.members.slice())]);
  }

  #extend(time: number, type: OpenRun['type'], index: number, id: string, name: string | undefined, member: string): void {
    const open = this.#open;
    if (open !== undefined && open.type === type && open.index === index && open.id === id && open.name === name) {
      const gap = time - open.lastTime;
      if (isExactGap(open.lastTime, gap, time)) {
        open.dt.push(gap);
        open.members.push(member);
        open.lastTime = time;
        return;
      }
    }
    this.#close();
    this.#open = { type, index, id, name, time0: time, lastTime: time, dt: [], members: [member] };
  }

  #append(time: number, chunk: ModelChunk): void {
    this.#close();
    this.#closed.push(Object.freeze({ type: 'chunk', time, chunk }));
  }

  #close(): void {
    if (this.#open !== undefined) this.#closed.push(seal(this.#open, this.#open.dt, this.#open.members));
    this.#open = undefined;
  }
}
