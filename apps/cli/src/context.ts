import { spawn } from 'node:child_process';
import { readCliConfig, type CliConfig } from './config.ts';
import { listenForInterrupt, type Interrupt } from './interrupt.ts';
import { createTerminal, type Terminal } from './terminal.ts';

/** What every command gets. */
export interface CommandContext {
  config: CliConfig;
  terminal: Terminal;
  interrupt: Interrupt;
  /** One line about something slow or unexpected. */
  log(line: string): void;
}

/** @throws QuaestorError `CONFIG_INVALID` */
export function createContext(): CommandContext {
  const config = readCliConfig();
  const terminal = createTerminal(config.NO_COLOR !== undefined);
  return { config, terminal, interrupt: listenForInterrupt(stopUnusedServicesLater), log: (line) => terminal.note(terminal.colors.dim(line)) };
}

/** A hard exit cannot wait for servers to stop: a process of its own does, once this one is gone. */
function stopUnusedServicesLater(): void {
  const main = process.argv[1];
  if (main) spawn(process.execPath, [main, 'services', 'stop', '--unused'], { detached: true, stdio: 'ignore' }).unref();
}
