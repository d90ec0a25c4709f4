import { randomBytes } from 'node:crypto';
import type { CreateRunRequest, RunId, RunStatus } from '#contracts';
import type { Rig } from './rig.ts';

export interface AskedRun {
  /** Its name at the model server. */
  token: string;
  id: RunId;
  wallMs: number;
  status: RunStatus | 'no end';
}

/** Filler that makes the question as long as a real one. */
const QUESTION = `Write a deep research report on the grid storage market: technology, cost, policy and supply risk. ${'Cover each region and give sources. '.repeat(6)}`;

export const newToken = (): string => randomBytes(6).toString('hex');
export const benchQuestion = (script: string, token: string): string => `${QUESTION} ${script} run.${token}`;

/** Limits no bench may meet: they are not what is measured. */
const LIMITS: Omit<CreateRunRequest, 'question'> = { budget_credits: 100_000, deadline_seconds: 3_600, source_cap: 1_000, workers: 32 };

/** A run that has not ended by then is given up and counts as a failure: a bench ends even when the engine does not. */
const GIVE_UP_AFTER_MS = 180_000;

/** Asks and follows the events to the end, as a client does; the time counts from the POST to the last event. */
export async function ask(rig: Rig, script: string): Promise<AskedRun> {
  const token = newToken();
  const startedMs = performance.now();
  const { id } = await rig.client.createRun({ question: benchQuestion(script, token), ...LIMITS });
  let status: AskedRun['status'] = 'no end';
  for await (const event of rig.client.events(id, { signal: AbortSignal.timeout(GIVE_UP_AFTER_MS) })) if (event.type === 'run_status') status = event.status;
  return { token, id, wallMs: performance.now() - startedMs, status };
}
