import { metricsRegistry } from '#platform';

const PREFIX = 'quaestor_';

/** Value of one series of this process as `/metrics` prints it, such as `runs_held` or `runs_ended_total{role="worker",stop_reason="answered"}`; null when it is not there. */
export async function figure(series: string): Promise<number | null> {
  const line = (await metricsRegistry.metrics()).split('\n').find((one) => one.startsWith(`${PREFIX}${series} `));
  return line === undefined ? null : Number(line.slice(line.lastIndexOf(' ') + 1));
}

/** How much each of `series` rises while `work` is done; one that is not there counts as zero. */
export async function risesOf<Name extends string>(series: readonly Name[], work: () => Promise<unknown>): Promise<Record<Name, number>> {
  const read = () => Promise.all(series.map(async (name) => (await figure(name)) ?? 0));
  const before = await read();
  await work();
  const after = await read();
  return Object.fromEntries(series.map((name, index) => [name, after[index]! - before[index]!])) as Record<Name, number>;
}
