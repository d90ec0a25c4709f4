import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface DatabaseProxy {
  url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Connections stay open and nothing passes any more, as behind a dead switch. */
  stall(): void;
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** A way to the database that can break in both ways a network does. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let stalled = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [[near, far], [far, near]] as const) {
      sockets.add(from);
      if (stalled) from.pause();
      from.on('data', (data) => to.write(data));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: url.toString(),
    cut,
    stall: () => {
      stalled = true;
      for (const socket of sockets) socket.pause();
    },
    mend: async () => {
      if (!server.listening) await listen(port);
      stalled = false;
      for (const socket of sockets) socket.resume();
    },
    close: cut,
  };
}
