import { treeCpuSeconds, type RunRecord } from '#testing';
import type { Bench, BenchOptions, BenchResult } from '../bench.ts';
import type { FloorPrompts } from '../floor/loop.ts';
import { ask, type AskedRun } from '../rig/ask.ts';
import { startFloor, type Floor } from '../rig/floor-process.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { cpuByGroup, cpuSince, startRig, total, type CpuByGroup, type Rig } from '../rig/rig.ts';
import { mean, rounded, spreadOf, type Spread } from '../rig/statistics.ts';
import { countCommits, keptBytes, type CommitCount } from '../rig/store-figures.ts';

const SCRIPT = 'bench(n4,k6,t60,m800,e150,d0)';
const COUNTING_SCRIPT = 'bench(n4,k6,t60,m800,e150,d0,u1)';
const ROUNDS = 4;
const COUNTED_RUNS = 5;

/** Published results of this very job as multiples of a bare loop on one machine, overhead and CPU; each bench prints them beside ours. */
const RIVALS = [
  { name: 'DBOS', overhead: 3.0, cpu: 3.2 },
  { name: 'Restate', overhead: 3.7, cpu: 4.0 },
  { name: 'OpenAI Agents SDK', overhead: 4.0, cpu: 3.8 },
  { name: 'deepagents + Postgres', overhead: 12.5, cpu: 13.9 },
] as const;
const TARGETS = { overhead: 2.5, cpu: 2.9, commitsPerModelCall: 2.5, keptOverDistinct: 1.2 } as const;

interface Side {
  overheadMs: number[];
  wallMs: number[];
  cpuSecondsPerRun: number[];
  failures: number;
}

const emptySide = (): Side => ({ overheadMs: [], wallMs: [], cpuSecondsPerRun: [], failures: 0 });

export const runBench: Bench = {
  name: 'run',
  description: 'one run at a time, 4 workers x 6 tool calls, model without delay: overhead and CPU beside a bare loop; commits and bytes kept',
  defaults: { runs: 40, warm: 20 },
  async run(options) {
    const rig = await startRig();
    let floor: Floor | undefined;
    try {
      options.log(`warming up with ${options.warm} runs each ...`);
      for (let i = 0; i < Math.max(1, options.warm); i++) await mustComplete(ask(rig, SCRIPT));
      floor = await startFloor(rig.model.url, (await rig.model.prompts()) as unknown as FloorPrompts);
      for (let i = 0; i < options.warm; i++) await mustComplete(floor.ask(SCRIPT));
      return await measure(rig, floor, options);
    } finally {
      await floor?.stop();
      await rig.stop();
    }
  },
};

async function mustComplete(asked: Promise<Pick<AskedRun, 'status' | 'token'>>): Promise<void> {
  const { status, token } = await asked;
  if (status !== 'completed') throw new Error(`The warm-up run ${token} ended ${status}: nothing can be measured.`);
}

async function measure(rig: Rig, floor: Floor, options: BenchOptions): Promise<BenchResult> {
  const load = watchMachine(() => [...rig.allPids(), floor.pid]);
  const engine = emptySide();
  const bare = emptySide();
  const cpuOfGroups: CpuByGroup = {};
  let modelCalls: number | undefined;
  const perRound = Math.ceil(options.runs / ROUNDS);
  for (let round = 1; round <= ROUNDS; round++) {
    options.log(`round ${round} of ${ROUNDS}, ${perRound} runs each ...`);
    const before = cpuByGroup(rig.processes());
    const records = await measureRound(engine, perRound, rig, () => ask(rig, SCRIPT));
    const used = cpuSince(before, rig.processes());
    engine.cpuSecondsPerRun.push(total(used) / perRound);
    for (const [name, seconds] of Object.entries(used)) cpuOfGroups[name] = (cpuOfGroups[name] ?? 0) + seconds / perRound / ROUNDS;
    modelCalls ??= records[0]?.modelRequests;
    const floorBefore = treeCpuSeconds([floor.pid]);
    await measureRound(bare, perRound, rig, () => floor.ask(SCRIPT));
    bare.cpuSecondsPerRun.push((treeCpuSeconds([floor.pid]) - floorBefore) / perRound);
  }
  const machine = load();
  options.log('counting commits and bytes ...');
  const stores = await countStores(rig);
  return present({ engine, bare, cpuOfGroups, modelCalls: modelCalls ?? 0, stores, machine });
}

async function measureRound(side: Side, count: number, rig: Rig, askOnce: () => Promise<Pick<AskedRun, 'token' | 'wallMs' | 'status'>>): Promise<RunRecord[]> {
  await rig.model.reset();
  const asked: Pick<AskedRun, 'token' | 'wallMs' | 'status'>[] = [];
  for (let i = 0; i < count; i++) asked.push(await askOnce());
  const records = await rig.model.runs();
  for (const { token, wallMs, status } of asked) {
    const record = records.find(({ id }) => id === token);
    if (status !== 'completed' || record === undefined) {
      side.failures++;
      continue;
    }
    side.wallMs.push(wallMs);
    side.overheadMs.push(wallMs - record.busyMs);
  }
  return records;
}

interface StoreFigures {
  commits: CommitCount;
  modelCalls: number;
  keptBytesPerRun: number;
  keptByTable: Record<string, number>;
  distinctBytesPerRun: number;
}

async function countStores(rig: Rig): Promise<StoreFigures> {
  await rig.model.reset();
  const before = await keptBytes(rig.database);
  const commits = await countCommits(rig.database, async () => {
    for (let i = 0; i < COUNTED_RUNS; i++) await mustComplete(ask(rig, COUNTING_SCRIPT));
  });
  const after = await keptBytes(rig.database);
  const keptByTable = Object.fromEntries(Object.entries(after).map(([table, bytes]) => [table, Math.round((bytes - (before[table] ?? 0)) / COUNTED_RUNS)]));
  const records = await rig.model.runs();
  return {
    commits,
    modelCalls: records.reduce((sum, record) => sum + record.modelRequests, 0),
    keptByTable,
    keptBytesPerRun: total(keptByTable),
    distinctBytesPerRun: mean(records.map((record) => record.distinctBytes)),
  };
}

interface Measured {
  engine: Side;
  bare: Side;
  cpuOfGroups: CpuByGroup;
  modelCalls: number;
  stores: StoreFigures;
  machine: ReturnType<ReturnType<typeof watchMachine>>;
}

function present({ engine, bare, cpuOfGroups, modelCalls, stores, machine }: Measured): BenchResult {
  const overhead = { engine: spreadOf(engine.overheadMs), bare: spreadOf(bare.overheadMs) };
  const cpu = { engine: mean(engine.cpuSecondsPerRun), bare: mean(bare.cpuSecondsPerRun) };
  const ratios = {
    overhead: rounded(overhead.engine.median / overhead.bare.median),
    cpu: rounded(cpu.engine / cpu.bare),
    commitsPerModelCall: rounded(stores.commits.writing / stores.modelCalls),
    keptOverDistinct: rounded(stores.keptBytesPerRun / stores.distinctBytesPerRun),
  };
  const lines = [
    `N = ${overhead.engine.count} engine runs and ${overhead.bare.count} of the bare loop in ${ROUNDS} alternating rounds; failed ${engine.failures} and ${bare.failures}; ${modelCalls} model calls a run`,
    `engine     overhead ${describe(overhead.engine)}  CPU ${rounded(cpu.engine, 3)} s/run (${groups(cpuOfGroups)})`,
    `bare loop  overhead ${describe(overhead.bare)}  CPU ${rounded(cpu.bare, 3)} s/run`,
    `ratio      overhead ${ratios.overhead}x${against(ratios.overhead, TARGETS.overhead)}  CPU ${ratios.cpu}x${against(ratios.cpu, TARGETS.cpu)}`,
    ...RIVALS.map((rival) => `rival      ${rival.name}: overhead ${rival.overhead.toFixed(1)}x, CPU ${rival.cpu.toFixed(1)}x of the bare loop`),
    `commits    ${ratios.commitsPerModelCall} durable per model call${against(ratios.commitsPerModelCall, TARGETS.commitsPerModelCall)}; ${rounded(stores.commits.statements / stores.modelCalls, 1)} statements in ${rounded(stores.commits.roundTrips / stores.modelCalls, 1)} round trips`,
    `kept       ${kilobytes(stores.keptBytesPerRun)} a run over ${kilobytes(stores.distinctBytesPerRun)} distinct message bytes = ${ratios.keptOverDistinct}x${against(ratios.keptOverDistinct, TARGETS.keptOverDistinct)}; content columns: ${groups(stores.keptByTable, kilobytes)}`,
    describeLoad(machine),
  ];
  return { lines, figures: { runs: overhead.engine.count, failures: engine.failures, overheadMs: overhead, cpuSecondsPerRun: cpu, cpuOfGroups, ratios, targets: TARGETS, rivals: RIVALS, stores, modelCalls, machine } };
}

const describe = ({ median, p10, p90 }: Spread): string => `${rounded(median, 1)} ms [${rounded(p10, 1)}..${rounded(p90, 1)}]`;
const against = (value: number, target: number): string => ` (target <= ${target}x: ${value <= target ? 'met' : 'NOT met'})`.replace('x:', ':');
const kilobytes = (bytes: number): string => `${rounded(bytes / 1_000, 0)} KB`;
const groups = (values: Record<string, number>, format: (value: number) => string = (value) => String(rounded(value, 3))): string =>
  Object.entries(values).map(([name, value]) => `${name} ${format(value)}`).join(', ');
