import { createClient, foldLiveView, type LiveView } from '#client';
import type { RunId } from '#contracts';
import { benchQuestion, newToken } from '../../rig/ask.ts';
import { startCuttableLine } from '../../rig/cuttable-line.ts';
import { GIVE_UP_AFTER_MS, LIMITS, type Part } from './part.ts';

const SCRIPT = 'bench(n1,k2,t10,m600,e10,d10)';
const READERS = 20;
const CUT_EVERY_MS = 200;
const GATEWAY_KILL_AFTER_MS = 3_000;
const RESUMES_DEFAULT = 200;

/**
 * Readers over lines that are cut all the time, beside one whose line is not; the gateway of both is killed once in each round. Facts must come
 * once and dense, and text must always be a beginning of the whole text.
 */
export const resumesPart: Part = async ({ operations = RESUMES_DEFAULT, log }, startRig) => {
  const rig = await startRig();
  const total = { resumes: 0, kills: 0, gaps: 0, duplicates: 0, lost: 0 };
  while (total.resumes < operations) {
    log(`resumes: ${total.resumes} of ${operations} ...`);
    const { id } = await rig.client.createRun({ question: benchQuestion(SCRIPT, newToken()), ...LIMITS });
    const line = await startCuttableLine(rig.stack.url);
    const cutting = setInterval(() => line.cut(), CUT_EVERY_MS);
    const killing = setTimeout(() => {
      total.kills++;
      for (const pid of rig.stack.pids().gateway) process.kill(pid, 'SIGKILL');
    }, GATEWAY_KILL_AFTER_MS);
    const direct = follow(rig.stack.url, rig.stack.apiKey, id, () => undefined);
    const cut = Array.from({ length: READERS }, () => follow(line.url, rig.stack.apiKey, id, () => total.resumes++));
    const expected = await direct;
    const seen = await Promise.all(cut);
    clearInterval(cutting);
    clearTimeout(killing);
    await line.close();
    for (const reader of seen) judge(reader, expected, total);
  }
  return {
    lines: [`${total.resumes} resumes, ${total.kills} kills of the gateway: ${total.gaps} gaps, ${total.duplicates} doubled, ${total.lost} events lost`],
    figures: { resumes: total.resumes, gateway_kills: total.kills, resume_gaps: total.gaps, resume_duplicates: total.duplicates, resume_lost: total.lost },
  };
};

interface Seen {
  lastSeq: number;
  gaps: number;
  duplicates: number;
  /** The longest text of each attempt. */
  texts: Map<string, string>;
}

function judge(reader: Seen, expected: Seen, total: { gaps: number; duplicates: number; lost: number }): void {
  // after a kill either of them may have missed the last words of an answer
  const isBeginning = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one);
  total.gaps += reader.gaps;
  total.duplicates += reader.duplicates + [...reader.texts].filter(([key, text]) => !isBeginning(expected.texts.get(key) ?? '', text)).length;
  total.lost += expected.lastSeq - reader.lastSeq;
}

async function follow(baseUrl: string, apiKey: string, id: RunId, onReconnect: () => void): Promise<Seen> {
  const seen: Seen = { lastSeq: 0, gaps: 0, duplicates: 0, texts: new Map() };
  let view: LiveView | null = null;
  for await (const event of createClient({ baseUrl, apiKey }).events(id, { onReconnect, signal: AbortSignal.timeout(GIVE_UP_AFTER_MS) })) {
    if (event.type === 'gap') seen.gaps++;
    if (event.seq !== undefined) {
      if (event.seq <= seen.lastSeq) seen.duplicates++;
      seen.lastSeq = event.seq;
    }
    view = foldLiveView(view, event);
    if (view !== null) seen.texts.set(`${view.turn}.${view.attempt}`, view.content);
  }
  return seen;
}
