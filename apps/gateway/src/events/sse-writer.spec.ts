import { createServer, type Server, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { SseWriter } from './sse-writer.ts';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it('[Q-17] resets a reader that leaves bytes waiting for too long', async () => {
  const closed = Promise.withResolvers<number>();
  const handle = (response: ServerResponse): void => {
    const writer = new SseWriter(response, { stallTimeoutMs: 200 });
    const startMs = performance.now();
    writer.onClose = () => closed.resolve(performance.now() - startMs);
    writer.open({}, 'retry: 2000\n\n');
    // far more than the kernel takes
    for (let part = 0; part < 256; part++) writer.write(Buffer.alloc(64 * 1024, 0x20));
  };
  server = createServer((_request, response) => handle(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const reader = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  reader.on('error', () => undefined);
  reader.pause();
  reader.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await closed.promise).toBeGreaterThanOrEqual(190);
  reader.destroy();
});
