import { createServer, type AddressInfo } from 'node:net';
import { waitFor } from './processes.ts';

const LOOPBACK = '127.0.0.1';

/** A server that was just killed holds its port until its last thread is gone. */
const RELEASE_TIMEOUT_MS = 500;

/** A free loopback port; `wanted` when it is free or soon is. Another process may still take it, so a start on it must be able to try again. */
export async function freePort(wanted?: number): Promise<number> {
  if (wanted && (await waitFor(async () => (await bindOnce(wanted)) !== undefined, RELEASE_TIMEOUT_MS))) return wanted;
  const port = await bindOnce(0);
  if (!port) throw new Error('no loopback port is free');
  return port;
}

/** Whether a server could listen there now. */
export const portIsFree = async (port: number, host = LOOPBACK): Promise<boolean> => (await bindOnce(port, host)) !== undefined;

function bindOnce(port: number, host = LOOPBACK): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host, exclusive: true }, () => {
      const bound = (server.address() as AddressInfo).port;
      server.close(() => resolve(bound));
    });
  });
}
