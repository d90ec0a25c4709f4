/** One tool call of a scripted answer. A string stands for raw argument text, so that a script can send what does not parse. */
export interface ScriptedCall {
  name: string;
  arguments: Record<string, unknown> | string;
}

/** What goes wrong with an answer. `afterChunks` counts stream events that are delivered before; a non-streamed answer fails at once. */
export type Fault =
  | { kind: 'status'; status: 400 | 401 | 404 | 429 | 500 | 503; message?: string; code?: string; retryAfterSeconds?: number }
  /** The connection ends without a finish reason and without [DONE]. */
  | { kind: 'cut'; afterChunks: number }
  /** Nothing more is sent; the connection stays open. */
  | { kind: 'stall'; afterChunks: number }
  /** An event whose data is not JSON. */
  | { kind: 'garbage'; afterChunks: number }
  /** An event `{ error: ... }` in mid-stream, then the end. */
  | { kind: 'error-chunk'; afterChunks: number; message: string }
  /** Half of the first tool call's arguments, then the connection ends. */
  | { kind: 'cut-arguments' };

export interface ScriptedAnswer {
  /** Sent as one event per word. */
  text?: string;
  /** Sent before the text, as `reasoning_content`. */
  reasoning?: string;
  calls?: ScriptedCall[];
  /** Default: `tool_calls` with calls, else `stop`. */
  finishReason?: 'stop' | 'tool_calls' | 'length' | 'content_filter';
  /** Milliseconds between stream events. Default 0: everything in one write. */
  chunkDelayMs?: number;
  firstChunkDelayMs?: number;
  fault?: Fault;
  /** Sent as they are in place of everything above, whatever protocol was asked in. */
  rawEvents?: readonly string[];
}

/** A tool call that an earlier answer made, with the result the client sent for it. */
export interface PastCall {
  name: string;
  arguments: string;
  result: string;
}

/** A request as scripts see it: everything they may decide from. Scripts are pure functions of it. */
export interface ScriptRequest {
  role: 'supervisor' | 'worker' | 'other';
  /** Token after `run.` in the question; scripts carry it into tasks and URLs. */
  runId: string;
  /** `name(parameters) run.id` as it stands in the question: copy it into a delegation's task to carry both. */
  carried: string;
  parameters: ReadonlyMap<string, string>;
  /** The text of the last user message. */
  question: string;
  offeredTools: ReadonlySet<string>;
  /** Calls since the last user message that asked a question, oldest first. */
  calls: readonly PastCall[];
  /** How often this turn was asked for before; always 0 unless the server keeps its requests. */
  timesAsked: number;
  /** Where the fixture web is, without a trailing slash. */
  webUrl: string;
}

export interface ModelScript {
  name: string;
  /** One line for `--list`, with the parameters it knows. */
  description: string;
  answer(request: ScriptRequest): ScriptedAnswer;
}

/** A whole number among a script's parameters, or its default. */
export function numberParameter(request: ScriptRequest, name: string, fallback: number): number {
  const value = Number(request.parameters.get(name) ?? fallback);
  return Number.isFinite(value) ? value : fallback;
}

export const countCalls = (request: ScriptRequest, name: string): number => request.calls.filter((call) => call.name === name).length;

/** Results of all calls of a tool, oldest first. */
export const resultsOf = (request: ScriptRequest, name: string): string[] => request.calls.filter((call) => call.name === name).map((call) => call.result);

/** Address of a fixture page: `slot` names a row of pages, `step` a page in it. */
export const pageUrl = (request: ScriptRequest, slot: number, step: number, extension = ''): string =>
  `${request.webUrl}/page/${slot}/${step}${extension}?run=${request.runId}`;

/** What the page `/page/SLOT/STEP.fact` says and no other. */
export const factOf = (slot: number, step: number): string => `The measured value of slot ${slot} page ${step} is ${10_000 + ((slot * 64 + step) * 7_919) % 90_000}.`;

/** Number of the task a worker was given (`[task 3]` in its text), from 0. */
export const taskNumber = (request: ScriptRequest): number => Number(/\[task (\d+)\]/.exec(request.question)?.[1] ?? 0);
