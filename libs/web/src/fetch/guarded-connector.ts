import { promises as dns } from 'node:dns';
import { Agent, buildConnector } from 'undici';
import { QuaestorError } from '#contracts';
import { literalAddress, type AddressGuard } from './address-guard.ts';

/** All addresses of a host name. Replaceable, so that a test decides what a name means. */
export type ResolveHost = (hostname: string) => Promise<{ address: string; family: number }[]>;

export const resolveByDns: ResolveHost = (hostname) => dns.lookup(hostname, { all: true, verbatim: true });

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * A connection pool that reaches public addresses only. A name is resolved once, every answer is judged, the connection is pinned to
 * those answers, and the peer's address is judged again when connected; so an answer that changes in between leads nowhere.
 * A literal is judged too: Node never looks one up, so a look-up hook alone would let it through. No proxy is ever used.
 */
export function createGuardedAgent(guard: AddressGuard, resolveHost: ResolveHost, headersTimeoutMs: number): Agent {
  const connect: buildConnector.connector = (options, callback) => {
    connectGuarded(guard, resolveHost, options, callback).catch((error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null));
  };
  return new Agent({ connect, headersTimeout: headersTimeoutMs, bodyTimeout: headersTimeoutMs, maxHeaderSize: 32 * 1024, allowH2: false, keepAliveTimeout: 2_000 });
}

async function connectGuarded(
  guard: AddressGuard,
  resolveHost: ResolveHost,
  options: buildConnector.Options,
  callback: buildConnector.Callback,
): Promise<void> {
  const { hostname } = options;
  const isAllowed = guard.allows(hostname, Number(options.port || (options.protocol === 'https:' ? 443 : 80)));
  const literal = literalAddress(hostname);
  const addresses = literal === null ? await resolve(resolveHost, hostname) : [{ address: literal, family: literal.includes(':') ? 6 : 4 }];
  if (!isAllowed) guard.checkResolved(hostname, addresses.map(({ address }) => address));
  const open = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false, autoSelectFamily: true, lookup: pinnedLookup(addresses) });
  open(options, (...[error, socket]: Parameters<buildConnector.Callback>) => {
    if (error !== null) return callback(error, null);
    try {
      if (!isAllowed) guard.checkResolved(hostname, [socket.remoteAddress ?? '']);
    } catch (refusal) {
      socket.destroy();
      return callback(refusal as QuaestorError, null);
    }
    callback(null, socket);
  });
}

async function resolve(resolveHost: ResolveHost, hostname: string): Promise<{ address: string; family: number }[]> {
  const addresses = await resolveHost(hostname).catch((cause: unknown) => {
    throw new QuaestorError('PAGE_FETCH_FAILED', `The host name ${hostname} could not be resolved.`, { cause });
  });
  if (addresses.length === 0) throw new QuaestorError('PAGE_FETCH_FAILED', `The host name ${hostname} has no address.`);
  return addresses;
}

type Lookup = NonNullable<import('node:net').TcpSocketConnectOpts['lookup']>;

function pinnedLookup(addresses: { address: string; family: number }[]): Lookup {
  return (_hostname, options, callback) => {
    const first = addresses[0];
    if (options.all === true) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family ?? 4);
  };
}
