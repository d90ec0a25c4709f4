export interface BenchOptions {
  /** Measured runs. */
  runs: number;
  /** Runs before measuring, per side. */
  warm: number;
  /** Operations of benches that count those; each has its default. */
  operations?: number;
  /** Parts of a bench that has several; all of them when it is not given. */
  only?: readonly string[];
  /** Readers at once of the streams bench. */
  clients?: number;
  /** Streams of the model-streams bench; default 10,000. */
  streams?: number;
  /** Seed of benches that draw lots; the default is theirs. */
  seed?: number;
  /** Told about progress. */
  log(line: string): void;
}

/** What a bench hands back: lines for people, one object for machines. */
export interface BenchResult {
  lines: string[];
  figures: Record<string, unknown>;
}

export interface Bench {
  name: string;
  description: string;
  /** Defaults of `--runs` and `--warm`. */
  defaults: { runs: number; warm: number };
  run(options: BenchOptions): Promise<BenchResult>;
}
