import type { Bench } from '../bench.ts';
import { ask } from '../rig/ask.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { startRig, type Rig } from '../rig/rig.ts';
import { compare, type Row } from './context/figures.ts';

/** Parameters have the same width everywhere, so that not even a digit more reaches a prompt. */
const SHAPES = [
  { workers: 1, calls: 6 },
  { workers: 4, calls: 6 },
  { workers: 16, calls: 6 },
  { workers: 4, calls: 12 },
  { workers: 4, calls: 24 },
] as const;

/** A cache price of a tenth, as many vendors ask, from which the size of a block follows; nothing is folded on the append-only side. */
const SETTINGS = { RESEARCH_WORKER_MAX_TURNS: '26', PAGE_CHARS: '16000', PROMPT_TOKENS_MAX: '1000000', MODEL_PRICE: 'input=0.25,cached=0.025,output=1' };
const APPEND_ONLY = { ...SETTINGS, PROMPT_PAGE_CHARS_MAX: '0' };

export const contextBench: Bench = {
  name: 'context',
  description: 'bytes sent to the model as workers and pages grow, beside the same engine with folding off: the supervisor must see findings, never pages',
  defaults: { runs: 1, warm: 0 },
  async run({ log }) {
    const folded = await measure(SETTINGS, (line) => log(`folding: ${line}`));
    const appended = await measure(APPEND_ONLY, (line) => log(`append-only: ${line}`));
    const { lines, figures } = compare(folded.rows, appended.rows);
    return { lines: [...lines, describeLoad(folded.machine)], figures: { ...figures, machine: folded.machine } };
  },
};

async function measure(env: Record<string, string>, log: (line: string) => void) {
  const rig = await startRig({ env });
  try {
    const load = watchMachine(rig.allPids);
    const rows: Row[] = [];
    for (const shape of SHAPES) {
      log(`${shape.workers} workers x ${shape.calls} calls ...`);
      rows.push(await rowOf(rig, shape));
    }
    return { rows, machine: load() };
  } finally {
    await rig.stop();
  }
}

const twoDigits = (number: number): string => String(number).padStart(2, '0');

async function rowOf(rig: Rig, { workers, calls }: (typeof SHAPES)[number]): Promise<Row> {
  const { token, id, status } = await ask(rig, `context(n${twoDigits(workers)},k${twoDigits(calls)},u1)`);
  const record = await rig.model.run(token);
  const { supervisor, worker } = record?.roles ?? {};
  if (status !== 'completed' || supervisor === undefined || worker === undefined) throw new Error(`The run with ${workers} workers ended ${status}.`);
  const { report } = await rig.client.getRun(id);
  const plain = (text: string): string => text.replaceAll(token, 'TOKEN').replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'WEB').replaceAll(/fetched \S+ sha256 \w+/g, 'fetched');
  const { entries } = await rig.client.scratchpad(id);
  const findings = entries.map(({ text }) => plain(text)).sort();
  return { workers, calls, supervisor, worker, findings, report: plain(report ?? '') };
}
