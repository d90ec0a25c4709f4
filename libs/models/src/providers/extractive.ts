import { z } from 'zod';
import type { LanguageModel, ModelRequest } from '#domain';
import { emitStep } from '../extractive/emit.ts';
import { readHistory, type History } from '../extractive/read-history.ts';
import type { Step } from '../extractive/step.ts';
import { supervisorStep } from '../extractive/supervisor.ts';
import { workerStep } from '../extractive/worker.ts';

/** Longest piece of text that is streamed at once, characters. */
const PIECE_CHARS = 48;
/** Sub-questions handed to workers in the first round. */
const DELEGATIONS_MAX = 4;

/**
 * The built-in model without weights: it plans, delegates, searches and reads like any other, and writes reports of quoted sentences
 * only. No I/O, no clock, no randomness: the same request gives the same chunks. An abort throws the signal's reason.
 */
export const extractiveProvider = {
  id: 'extractive',
  /** Needs no settings. */
  config: z.object({}),
  create(): LanguageModel {
    return {
      id: 'extractive',
      host: 'extractive',
      async stream(request, onChunk, signal) {
        const history = readHistory(request);
        const step = decideStep(history, request);
        emitStep(step, request, { pieceChars: PIECE_CHARS, turn: history.turns + 1 }, onChunk, signal);
      },
    };
  },
} as const;

/** The tools on offer tell the role; on the last turn, when none are, the history does. */
function decideStep(history: History, request: ModelRequest): Step {
  if (isWorker(history)) return workerStep(history);
  return supervisorStep(history, { delegationsMax: DELEGATIONS_MAX, outputTokensMax: request.maxOutputTokens });
}

function isWorker({ tools, exchanges }: History): boolean {
  if (tools.has('delegate_research_task')) return false;
  return tools.has('perform_web_search') || exchanges.some(({ name }) => name === 'perform_web_search' || name === 'read_web_page');
}
