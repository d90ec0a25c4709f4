import type { Bench, BenchOptions } from '../bench.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { startRig, type Rig } from '../rig/rig.ts';
import { agePart, crowdPart } from './streams/age.ts';
import { bytesPart } from './streams/bytes.ts';
import { clientsPart } from './streams/clients.ts';
import { compactPart } from './streams/compact.ts';
import type { Part } from './streams/part.ts';
import { resumesPart } from './streams/resumes.ts';
import { routerPart } from './streams/router.ts';

/** In this order: what needs a quiet machine comes before what leaves work behind. */
const PARTS: Record<string, Part> = { compact: compactPart, router: routerPart, bytes: bytesPart, age: agePart, crowd: crowdPart, clients: clientsPart, resumes: resumesPart };

export const streamsBench: Bench = {
  name: 'streams',
  description: `live text and kept streams (--only ${Object.keys(PARTS).join(',')}): age of a token beside a direct read, readers cut and resumed, many readers, bytes kept`,
  defaults: { runs: 50, warm: 2 },
  async run(options) {
    const names = chosenParts(options);
    let starting: Promise<Rig> | undefined;
    const rig = (): Promise<Rig> => (starting ??= startRig({ keepsRequests: true }));
    try {
      const lines: string[] = [];
      const figures: Record<string, unknown> = {};
      const watched: Rig | undefined = names.some((name) => name !== 'compact' && name !== 'router') ? await rig() : undefined;
      const load = watchMachine(() => watched?.allPids() ?? []);
      for (const name of names) {
        const result = await PARTS[name]!(options, rig);
        lines.push(...result.lines);
        Object.assign(figures, result.figures);
      }
      const machine = load();
      return { lines: [...lines, describeLoad(machine)], figures: { ...figures, machine } };
    } finally {
      await (await starting)?.stop();
    }
  },
};

function chosenParts({ only }: BenchOptions): string[] {
  const unknown = only?.find((name) => !(name in PARTS));
  if (unknown !== undefined) throw new Error(`There is no part "${unknown}" in the streams bench: use ${Object.keys(PARTS).join(', ')}.`);
  return Object.keys(PARTS).filter((name) => only?.includes(name) ?? true);
}
