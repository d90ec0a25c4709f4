import { createServer, type AddressInfo } from 'node:net';

const LOOPBACK = '127.0.0.1';

/** A free loopback port; `wanted` when it is free. Another process may still take it, so a start on it must be able to try again. */
export async function freePort(wanted?: number): Promise<number> {
  if (wanted) {
    const port = await bindOnce(wanted);
    if (port) return port;
  }
  const port = await bindOnce(0);
  if (!port) throw new Error('no loopback port is free');
  return port;
}

function bindOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => {
      const bound = (server.address() as AddressInfo).port;
      server.close(() => resolve(bound));
    });
  });
}
