import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ProxiedConnection } from './proxied-connection.ts';
import { FaultReceipts } from './receipts.ts';
import { endsMysqlReply, NO_TOXICS, type ReplyCut, type Silence, type Toxics } from './toxics.ts';

export interface ProxyOptions {
  /** Default: a book of its own. */
  receipts?: FaultReceipts;
  /** Its name in receipts. Default: the scheme of its address. */
  name?: string;
}

/**
 * A way to a server over TCP - Redis, a database, a model - that can go wrong as a network does. Its address never changes. Every fault
 * that really hit a connection leaves a receipt.
 */
export class TcpProxy {
  /** The target's address with this proxy in the place of its host. */
  readonly url: string;
  readonly receipts: FaultReceipts;
  readonly #name: string;
  readonly #server: Server;
  readonly #port: number;
  readonly #connections = new Set<ProxiedConnection>();
  #target: URL;
  #toxics: Toxics = NO_TOXICS;
  #silence: Silence = 'none';
  #cuts: ReplyCut[] = [];

  static async open(targetUrl: string, options: ProxyOptions = {}): Promise<TcpProxy> {
    const server = createServer();
    await listen(server, 0);
    return new TcpProxy(server, targetUrl, options);
  }

  private constructor(server: Server, targetUrl: string, { receipts = new FaultReceipts(), name }: ProxyOptions) {
    this.#server = server;
    this.#target = new URL(targetUrl);
    this.receipts = receipts;
    this.#name = name ?? this.#target.protocol.replace(':', '');
    this.#port = (server.address() as AddressInfo).port;
    const url = new URL(targetUrl);
    url.host = `127.0.0.1:${this.#port}`;
    this.url = url.toString();
    server.on('connection', (near) => this.#accept(near));
  }

  /** Connections that are open through this proxy. */
  get size(): number {
    return this.#connections.size;
  }

  #accept(near: Socket): void {
    const connection = new ProxiedConnection(near, { host: this.#target.hostname, port: Number(this.#target.port) }, this.#rules());
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
  }

  #rules() {
    const toxics = () => this.#toxics;
    const silence = () => this.#silence;
    return {
      get toxics() {
        return toxics();
      },
      get silence() {
        return silence();
      },
      takeCut: (request: string) => this.#takeCut(request),
      landed: (fault: string, evidence: string) => this.receipts.record(fault, this.#name, evidence),
    };
  }

  #takeCut(request: string): ReplyCut | 'spared' | null {
    const cut = this.#cuts.find((one) => request.includes(one.request));
    if (cut === undefined) return null;
    if (cut.skip > 0) {
      cut.skip -= 1;
      return 'spared';
    }
    this.#cuts = this.#cuts.filter((one) => one !== cut);
    return cut;
  }

  /** Slows or cuts bytes until `heal`; what is not named stays as it is. */
  poison(toxics: Partial<Toxics>): void {
    this.#toxics = { ...this.#toxics, ...toxics };
  }

  /**
   * The next request with these bytes is passed on, and its connection is reset once the server has answered in full and before the client
   * hears of it: a COMMIT whose outcome nobody knows. By default a reply is whole as MySQL tells it.
   */
  cutReplyTo(request: string, { skip = 0, isWholeReply = endsMysqlReply }: Partial<Omit<ReplyCut, 'request'>> = {}): void {
    this.#cuts.push({ request, skip, isWholeReply });
  }

  /** Bytes of open and new connections stay where they are, as behind a dead switch, and arrive after `heal`. */
  hold(): void {
    this.#silenceAll('hold');
    this.receipts.record('hold', this.#name, `${this.size} connections`);
  }

  /** Bytes vanish although connections stay open (half-open): those that lost some stay dead after `heal`. */
  swallow(): void {
    this.#silenceAll('swallow');
  }

  #silenceAll(silence: Silence): void {
    this.#silence = silence;
    for (const connection of this.#connections) connection.applySilence();
  }

  /** Ends every open connection with RST; new ones are accepted. */
  reset(): void {
    for (const connection of [...this.#connections]) {
      connection.end('reset');
      this.receipts.record('reset', this.#name, 'an open connection');
    }
  }

  /** Ends every connection and refuses new ones until `heal`. Safe to repeat. */
  async down(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.receipts.record('down', this.#name, `${this.size} connections`);
    for (const connection of this.#connections) connection.end('close');
    await closed;
  }

  /** From now on connections lead elsewhere, and the open ones end: a failover. The other server takes the same credentials. */
  switchTo(targetUrl: string): void {
    this.receipts.record('switch', this.#name, `from ${this.#target.host} to ${new URL(targetUrl).host}`);
    this.#target = new URL(targetUrl);
    for (const connection of [...this.#connections]) connection.end('close');
  }

  /** Ends every lasting fault. Safe to repeat. */
  async heal(): Promise<void> {
    this.#toxics = NO_TOXICS;
    this.#cuts = [];
    this.#silenceAll('none');
    if (!this.#server.listening) await listen(this.#server, this.#port);
  }

  async close(): Promise<void> {
    this.#silenceAll('none');
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const connection of this.#connections) connection.end('close');
    await closed;
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
