import { reviveLocalServices, startLocalServices, type LocalServices, type LocalServicesOptions } from './local-services.ts';

const LOOK_INTERVAL_MS = 1_000;

/**
 * As `startLocalServices`, and until `stop` a server that dies is started again on its data and its port, so that whoever uses it goes on.
 * `log` is told in one line each time.
 */
export async function keepLocalServices(options: LocalServicesOptions): Promise<LocalServices> {
  const services = await startLocalServices(options);
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  const lookLater = (): void => {
    if (stopped) return;
    timer = setTimeout(() => (looking = revive(options).finally(lookLater)), LOOK_INTERVAL_MS);
    timer.unref();
  };
  lookLater();
  const stop = async (): Promise<void> => {
    stopped = true;
    clearTimeout(timer);
    await looking;
    await services.stop();
  };
  return { ...services, stop };
}

async function revive(options: LocalServicesOptions): Promise<void> {
  try {
    const revived = await reviveLocalServices(options);
    if (revived.length > 0) options.log?.(`had ended and was started again: ${revived.join(', ')}`);
  } catch (error) {
    options.log?.(error instanceof Error ? error.message : String(error));
  }
}
