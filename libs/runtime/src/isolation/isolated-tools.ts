import { QuaestorError, ToolResult } from '#contracts';
import type { DocumentIndex, IsolatedCall, SettledOutcome, ToolCaller, ToolIsolation, ToolPorts } from '#domain';
import type { WebConfig } from '#web';
import { runInProcess } from './call-process.ts';
import { parentPortsOf } from './parent-ports.ts';
import { Slots } from './slots.ts';

/** Processes of suspected calls at once. After a machine that went down twice, every call it had in hand is a suspect. */
const PROCESSES_MAX = 2;

export interface IsolatedToolsOptions {
  ports: ToolPorts;
  documents: DocumentIndex;
  web: WebConfig;
  /** Module that exports `PLATFORM_TOOLS`. */
  toolsModule: string;
  /** Told of a call whose process died: a page or a tool that somebody should look at. */
  onDeath(caller: ToolCaller): void;
}

/**
 * Carries out suspected calls, each alone in a process of its own, with the outside world reached from there and rows asked for here: this
 * process keeps the lease, the stores and every commit. At most two at once; the others wait for their turn.
 */
export class IsolatedTools implements ToolIsolation {
  readonly #options: IsolatedToolsOptions;
  readonly #slots = new Slots(PROCESSES_MAX);

  constructor(options: IsolatedToolsOptions) {
    this.#options = options;
  }

  async execute({ timeoutMs, ...call }: IsolatedCall, signal: AbortSignal): Promise<SettledOutcome> {
    const { ports, documents, web, toolsModule, onDeath } = this.#options;
    await this.#slots.enter(signal);
    try {
      const task = { ...call, web, pageChars: ports.pageChars };
      const outcome = await runInProcess({ task, timeoutMs, ports: parentPortsOf(call.caller, ports, documents, signal), toolsModule }, signal);
      return { ...outcome, result: ToolResult.parse(outcome.result) };
    } catch (error) {
      if (error instanceof QuaestorError && error.code === 'TOOL_KILLED_PROCESS') onDeath(call.caller);
      throw error;
    } finally {
      this.#slots.leave();
    }
  }
}
