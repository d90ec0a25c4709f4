import { QuaestorError, isTerminal, PAGE_CHARS_DEFAULT, type LimitHit, type RunId, type RunStatus, type StopReason } from '#contracts';
import { bytesOfId, cutPosition, openWorkOf, sameModelForAll, type CutView, type ModelChoice, type ModelRoster, type OpenWork, type PromptRecord, type RunTreeRecord, type RecordedRun, type ToolSpec } from '#domain';
import type { AgentDependencies } from '../dependencies.ts';
import { runAgent } from '../run-agent.ts';
import type { ReplayDifference } from './difference.ts';
import { RecordedJournal } from './recorded-journal.ts';
import { RecordedModel } from './recorded-model.ts';
import { recordedPorts, recordedTools } from './recorded-tools.ts';
import { ReplayState, ReplayStopped } from './replay-state.ts';

/** What one run of the tree came to when it was executed again. */
export interface ReplayedRun {
  runId: RunId;
  /** Delegation number; null for the root run. */
  worker: number | null;
  status: RunStatus;
  stopReason: StopReason | null;
  attempts: number;
  calls: number;
  /** Prompts built again that are the recorded ones to the byte, and prompts that nothing is known of. */
  promptsChecked: number;
  promptsUnchecked: number;
}

export interface ReplayReport {
  runs: ReplayedRun[];
  /** The first one; null when every decision, prompt, call and result was the recorded one. */
  difference: ReplayDifference | null;
}

/**
 * Executes a recorded run and its worker runs again through the loop itself, without a model and without a network, and holds every decision,
 * prompt, answer, call, result and end against the record. Stops at the first difference. Works for runs that failed, were cancelled, died
 * and went on elsewhere, and for those that have not ended yet. Changes nothing.
 * @throws QuaestorError `JOURNAL_INVALID` for a record that cannot be read
 */
export async function replayTree(tree: RunTreeRecord, tools: readonly ToolSpec[]): Promise<ReplayReport> {
  const runs: ReplayedRun[] = [];
  for (const record of tree.runs) {
    const state = new ReplayState(record);
    await replayRun(state, tree, tools);
    const { run } = record.loaded;
    const { promptsChecked, promptsUnchecked } = state;
    runs.push({ runId: run.id, worker: run.workerNumber, status: record.status, stopReason: record.stopReason, attempts: record.attempts.length, calls: record.loaded.calls.filter(({ inherited }) => !inherited).length, promptsChecked, promptsUnchecked });
    if (state.difference) return { runs, difference: state.difference };
  }
  return { runs, difference: null };
}

async function replayRun(state: ReplayState, tree: RunTreeRecord, tools: readonly ToolSpec[]): Promise<void> {
  const { record } = state;
  const deps = dependenciesOf(state, tree, tools);
  while (!state.hasEnded && !state.difference) {
    if (waitsForOthers(record, state)) return;
    const before = progressOf(state);
    state.abort = new AbortController();
    const { abort } = state;
    try {
      await runAgent(deps, record.loaded.run.id, () => ({ abort: abort.signal, drain: AbortSignal.any([]) }));
    } catch (error) {
      const isDeath = abort.signal.aborted && abort.signal.reason === error;
      if (!(error instanceof ReplayStopped) && !isDeath) throw error;
    }
    if (!state.hasEnded && !state.difference && progressOf(state) === before) return state.giveUp();
  }
}

const progressOf = ({ position, settled, closed, settledTurn }: ReplayState): string => [position, settled.size, closed.size, settledTurn].join('.');

/** A run whose workers are still out, or which nobody ever took up: its record goes no further. */
function waitsForOthers({ status, loaded }: RecordedRun, { position, settledTurn, settled }: ReplayState): boolean {
  if (isTerminal(status)) return false;
  const isUntouched = position === 0 && loaded.run.leaseEpoch === 0;
  return isUntouched || loaded.calls.some((call) => call.turn === settledTurn && call.status === 'open' && !settled.has(call.toolCallId));
}

function dependenciesOf(state: ReplayState, tree: RunTreeRecord, tools: readonly ToolSpec[]): AgentDependencies {
  const settings = () => state.next?.prompt ?? state.record.attempts.at(-1)?.prompt;
  const choice: ModelChoice = { model: new RecordedModel(state), modelName: 'record', price: { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 }, maxOutputTokens: 1 };
  let minted = 0;
  return {
    journal: new RecordedJournal(state, tree),
    get models() {
      return recordedModels(state, choice);
    },
    readTier: 0,
    prompts: {
      tokensMax: () => settings()?.tokensMax ?? Number.MAX_SAFE_INTEGER,
      isFoldDue: ({ turn }) => settings()?.folds.includes(turn) ?? false,
      summarises: () => state.next?.kind === 'summary',
      cutOf: (view) => cutOnRecord(state.next?.prompt ?? null, view),
    },
    tools: recordedTools(tools, state, tree),
    ports: recordedPorts(tree, () => settings()?.pageChars ?? PAGE_CHARS_DEFAULT),
    isolation: { execute: () => Promise.reject(new QuaestorError('INTERNAL_ERROR', 'A replay starts no process.')) },
    send: () => Promise.resolve(),
    touched: () => undefined,
    live: () => undefined,
    openWork: () => Promise.resolve(openWorkIn(tree)),
    limitsMet: () => Promise.resolve(limitsOf(tree)),
    findings: () => Promise.resolve(tree.scratchpad.entries.filter(({ kind }) => kind === 'finding').map(({ text }) => text)),
    observer: { attemptSettled: () => undefined, toolSettled: () => undefined, runEnded: () => undefined },
    nowMs: () => state.nowMs,
    sleep: () => Promise.resolve(),
    random: () => 0,
    randomBytes: () => {
      const { nextId } = state;
      state.nextId = null;
      return nextId ? bytesOfId(nextId) : new Uint8Array(17).fill(++minted & 255);
    },
  };
}

/** A recorded run went on after a failure as long as its record does, by another try or by a fallback: here there is one more while it goes on. */
function recordedModels(state: ReplayState, choice: ModelChoice): ModelRoster {
  const isLast = state.next?.finishing ? state.attempts[state.position + 1] === undefined : state.stopsBefore(state.position + 1);
  if (isLast) return sameModelForAll(choice);
  const choices: ModelRoster['worker'] = [choice, ...state.record.attempts.map((_, index) => ({ ...choice, modelName: `record ${index + 1}` }))];
  return { supervisor: choices, worker: choices, synthesis: choices };
}

/** A version that kept no cut cut each prompt anew, from the whole history and to its whole limit. */
function cutOnRecord(prompt: PromptRecord | null, { messages, cut, tokensMax, estimateTokens }: CutView): number {
  if (!prompt) return cut;
  return prompt.cut ?? cutPosition(messages, { budgetTokens: tokensMax, estimateTokens });
}

/** As the rows stood when the run ended: its workers' calls, and its own. */
const openWorkIn = ({ runs, earlierCalls }: RunTreeRecord): OpenWork =>
  openWorkOf(
    [...earlierCalls, ...runs.flatMap(({ loaded }) => loaded.calls.filter(({ inherited }) => !inherited))],
    runs.slice(1).map(({ question, status }) => ({ task: question, status })),
  );

const limitsOf = ({ runs }: RunTreeRecord): LimitHit[] => [...new Set(runs.flatMap(({ loaded }) => loaded.run.limitsHit))];
