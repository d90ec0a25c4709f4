import { ask } from '../../rig/ask.ts';
import { mean, rounded } from '../../rig/statistics.ts';
import { keptBytes } from '../../rig/store-figures.ts';
import type { Part } from './part.ts';

const RUNS = 3;
const SCRIPT = 'bench(n4,k6,u1)';
/** What is kept to show, repeat and check a conversation; pages and what people are told are counted beside it. */
const CONVERSATION = new Set(['messages', 'tool_calls', 'attempts']);

/** What a run leaves in the database, as it is stored, beside the distinct messages its models were sent. */
export const bytesPart: Part = async ({ log }, startRig) => {
  const rig = await startRig();
  log(`bytes of ${RUNS} runs ...`);
  const before = await keptBytes(rig.database);
  const distinct: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const { token } = await ask(rig, SCRIPT);
    distinct.push((await rig.model.run(token))?.distinctBytes ?? Number.NaN);
  }
  const after = await keptBytes(rig.database);
  const grown = Object.fromEntries(Object.entries(after).map(([table, bytes]) => [table, Math.round((bytes - (before[table] ?? 0)) / RUNS)]));
  const sum = (isCounted: (table: string) => boolean): number => Object.entries(grown).reduce((total, [table, bytes]) => total + (isCounted(table) ? bytes : 0), 0) / mean(distinct);
  const ratios = { all: sum(() => true), conversation: sum((table) => CONVERSATION.has(table)), streams: sum((table) => table === 'attempts') };
  return {
    lines: [
      `kept of a run over ${Math.round(mean(distinct))} distinct message bytes, ${RUNS} runs: all ${rounded(ratios.all)}x, messages, calls and streams ${rounded(ratios.conversation)}x, streams ${rounded(ratios.streams)}x (${Object.entries(grown).map(([table, bytes]) => `${table} ${bytes}`).join(', ')})`,
    ],
    figures: { kept_over_distinct: rounded(ratios.all, 3), conversation_over_distinct: rounded(ratios.conversation, 3), streams_over_distinct: rounded(ratios.streams, 3), distinct_bytes: Math.round(mean(distinct)), kept_by_table: grown },
  };
};
