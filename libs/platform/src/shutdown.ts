import { DRAIN_GRACE_MS } from '#contracts';

type StopStep = () => Promise<unknown> | unknown;

const EXIT_CODE_BY_SIGNAL = { SIGTERM: 143, SIGINT: 130 } as const;
type StopSignal = keyof typeof EXIT_CODE_BY_SIGNAL;

export interface ShutdownOptions {
  /** Milliseconds all steps together may take; then the process exits anyway. Default 10,000. */
  graceMs?: number;
  /** Told about steps that failed and about running out of time. Default: nobody. */
  onProblem?: (step: string, error: unknown) => void;
  /** A signal this soon after the first is the same one: npm passes on what the terminal has already sent. Default 300 ms. */
  sameSignalMs?: number;
  /** Exit code after a clean stop by signal. Default 0: a drained process did what it was asked. */
  exitCode?: number;
}

/** Ordered stop of one process: steps run one after the other, the last registered first, each once. */
export class Shutdown {
  private readonly steps: { name: string; run: StopStep }[] = [];
  private readonly graceMs: number;
  private readonly onProblem: (step: string, error: unknown) => void;
  private readonly exitCode: number;
  private readonly sameSignalMs: number;
  private stopping: Promise<void> | undefined;

  constructor({ graceMs = DRAIN_GRACE_MS, onProblem = () => undefined, exitCode = 0, sameSignalMs = 300 }: ShutdownOptions = {}) {
    this.graceMs = graceMs;
    this.onProblem = onProblem;
    this.exitCode = exitCode;
    this.sameSignalMs = sameSignalMs;
  }

  /** Adds a step; it runs before all that were added earlier. A step that throws does not keep the others from running. */
  onShutdown(name: string, run: StopStep): void {
    this.steps.unshift({ name, run });
  }

  get isStopping(): boolean {
    return this.stopping !== undefined;
  }

  /** Runs all steps within the grace time. A repeat waits for the first call. */
  stop(): Promise<void> {
    this.stopping ??= this.runSteps();
    return this.stopping;
  }

  /** SIGTERM and SIGINT stop in order and exit; a second signal exits at once with the signal's own code. */
  listenToSignals(): void {
    let firstAtMs: number | undefined;
    const handle = (signal: StopSignal): void => {
      firstAtMs ??= performance.now();
      if (this.isStopping) {
        if (performance.now() - firstAtMs >= this.sameSignalMs) process.exit(EXIT_CODE_BY_SIGNAL[signal]);
        return;
      }
      void this.stop().then(() => process.exit(this.exitCode));
    };
    process.on('SIGTERM', handle);
    process.on('SIGINT', handle);
  }

  private async runSteps(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const outOfTime = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), this.graceMs);
    });
    let current = '';
    const all = async (): Promise<void> => {
      for (const step of this.steps) {
        current = step.name;
        try {
          await step.run();
        } catch (error) {
          this.onProblem(step.name, error);
        }
      }
    };
    if ((await Promise.race([all(), outOfTime])) === 'late') this.onProblem(current, new Error(`did not stop within ${this.graceMs} ms`));
    clearTimeout(timer);
  }
}
