import { setImmediate } from 'node:timers/promises';
import { QuaestorError, type ErrorCode, type SourceId, type ToolCallId } from '#contracts';
import { canonicalUrl, type CallRecord, type FetchedPage, type RecordedSource, type RunTreeRecord, type SourceStore, type ToolOutcome, type ToolPorts, type ToolSpec } from '#domain';
import type { ReplayState } from './replay-state.ts';

/** Sources of the recorded tree. */
export function recordedSources({ sources }: RunTreeRecord): SourceStore {
  const byId = new Map(sources.map((source) => [source.id, source]));
  return {
    findByUrl: (_rootRunId, url) => Promise.resolve(sources.findLast((source) => source.url === url) ?? null),
    get: (_rootRunId, sourceId) => Promise.resolve(byId.get(sourceId) ?? null),
    heads: () => Promise.resolve(sources.map(({ text: _text, toolCallId: _toolCallId, extraction: _extraction, ...head }) => head)),
  };
}

/** The world as the loop itself reaches it, when it builds prompts and checks its report. */
export function recordedPorts(tree: RunTreeRecord, pageChars: () => number): ToolPorts {
  return {
    search: { id: 'record', search: () => Promise.reject(new QuaestorError('INTERNAL_ERROR', 'A replay searches nothing.')) },
    pages: { canonicalUrl, read: () => Promise.reject(new QuaestorError('INTERNAL_ERROR', 'A replay fetches nothing.')) },
    sources: recordedSources(tree),
    scratchpad: { read: () => Promise.resolve(tree.scratchpad) },
    writeScratchpad: () => Promise.reject(new QuaestorError('INTERNAL_ERROR', 'A replay writes nothing.')),
    get pageChars() {
      return pageChars();
    },
  };
}

/**
 * The real tools with a recorded world below them: what a page holds, where a phrase stands and how many pages there are is worked out
 * again; what the network, the notes of others or a failure had to say is taken from the record.
 */
export function recordedTools(catalogue: readonly ToolSpec[], state: ReplayState, tree: RunTreeRecord): ToolSpec[] {
  const working = new Map<ToolCallId, Promise<ToolOutcome>>();
  return catalogue.map((spec) => ({
    ...spec,
    // prices are facts of the ledger, and of no consequence for what happens next
    isFree: () => Promise.resolve(true),
    execute: (args, caller, ports, signal) => {
      const call = state.calls.get(caller.toolCallId);
      if (call?.status === 'cancelled' || call?.status === 'open') return letGo(state, call, working);
      const outcome = call ? answer(spec, call, () => spec.execute(args, caller, portsOf(call, tree, ports), signal)) : Promise.reject(new QuaestorError('JOURNAL_INVALID', `The record has no tool call ${caller.toolCallId}.`));
      working.set(caller.toolCallId, outcome);
      return outcome;
    },
  }));
}

/** A call that never got an answer: its siblings that did are settled first, then the run is cancelled, or the record is over. */
async function letGo(state: ReplayState, call: CallRecord, working: ReadonlyMap<ToolCallId, Promise<ToolOutcome>>): Promise<ToolOutcome> {
  await setImmediate();
  await Promise.allSettled(working.values());
  await setImmediate();
  if (call.status === 'open') return state.recordIsOver('the answer to a call');
  const cancelled = new QuaestorError('RUN_CANCELLED', 'The run was cancelled.');
  state.abort.abort(cancelled);
  throw cancelled;
}

async function answer(spec: ToolSpec, { result, toolCallId }: CallRecord, execute: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  if (!result) throw new QuaestorError('JOURNAL_INVALID', `Tool call ${toolCallId} was settled without a result.`);
  if (result.kind === 'error') throw new QuaestorError(result.code as ErrorCode, result.message);
  if (spec.effect === 'scratchpad-write') return { kind: 'settled', result, alreadySettled: true };
  if (spec.effect === 'scratchpad-read') return { kind: 'settled', result };
  return execute();
}

function portsOf({ toolCallId, result }: CallRecord, tree: RunTreeRecord, ports: ToolPorts): ToolPorts {
  if (result?.kind === 'hits') {
    const { provider, hits, degraded } = result;
    return { ...ports, search: { id: provider, search: () => Promise.resolve({ hits, ...(degraded === undefined ? {} : { degraded }) }) } };
  }
  if (result?.kind !== 'page' && result?.kind !== 'matches') return ports;
  const source = sourceOf(tree, result.sourceId, toolCallId);
  const wasFetchedHere = source.toolCallId === toolCallId;
  return {
    ...ports,
    pageChars: ports.pageChars,
    pages: { canonicalUrl: () => result.url, read: () => Promise.resolve({ ...fetched(source), title: result.kind === 'page' ? result.title : source.title }) },
    sources: { ...ports.sources, findByUrl: () => Promise.resolve(wasFetchedHere ? null : source) },
  };
}

function sourceOf({ sources }: RunTreeRecord, sourceId: SourceId, toolCallId: ToolCallId): RecordedSource {
  const source = sources.find(({ id }) => id === sourceId);
  if (!source) throw new QuaestorError('JOURNAL_INVALID', `The source ${sourceId} of tool call ${toolCallId} is not in the record.`);
  return source;
}

const fetched = ({ url, finalUrl, title, mediaType, text, bodySha256, extraction }: RecordedSource): FetchedPage => ({ url, finalUrl, title, mediaType, text, bodySha256, extraction });
