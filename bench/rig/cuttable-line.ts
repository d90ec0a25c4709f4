import net from 'node:net';

/** A line to a service that can be cut at any moment; whoever was on it may come back. */
export interface CuttableLine {
  url: string;
  cut(): void;
  close(): Promise<void>;
}

export async function startCuttableLine(target: string): Promise<CuttableLine> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<net.Socket>();
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  const server = net.createServer((near) => {
    const far = net.connect(Number(port), hostname);
    for (const [socket, other] of [[near, far], [far, near]] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> => {
    cut();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`, cut, close };
}
