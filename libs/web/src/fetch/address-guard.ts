import ipaddr from 'ipaddr.js';
import { QuaestorError } from '#contracts';
import { parseWebUrl } from '#domain';

/** Public by number, yet inside a cloud: Azure's host agent. Others such as 169.254.169.254 are not unicast and need no line. */
const DENIED_ADDRESSES = new Set(['168.63.129.16']);
/** Names that stand for this machine or its cloud; refused before any look-up. */
const DENIED_NAMES = new Set(['localhost', 'metadata.google.internal', 'instance-data', 'metadata']);
/** Of IPv6, only this block is handed out for the public internet; ipaddr.js calls the unassigned rest unicast too. */
const GLOBAL_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];
/** NAT64's well-known prefix; the local-use prefix 64:ff9b:1::/48 beside it stays refused. */
const NAT64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96];

/** Whether an address is on the public internet. IPv4 inside IPv6 (mapped, NAT64, 6to4) is judged by what it leads to. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv4') return isPublicIpv4(parsed as ipaddr.IPv4);
  return isPublicIpv6(parsed as ipaddr.IPv6);
}

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !DENIED_ADDRESSES.has(address.toString());
}

function isPublicIpv6(address: ipaddr.IPv6): boolean {
  if (address.zoneId !== undefined) return false;
  const bytes = address.toByteArray();
  if (address.range() === 'ipv4Mapped' || address.match(NAT64)) return isPublicIpv4(new ipaddr.IPv4(bytes.slice(12)));
  if (address.range() === '6to4') return isPublicIpv4(new ipaddr.IPv4(bytes.slice(2, 6)));
  return address.range() === 'unicast' && address.match(GLOBAL_IPV6);
}

/** Decides which addresses may be opened. Holds no state but the list of private hosts that the operator named. */
export class AddressGuard {
  readonly #allowed: ReadonlySet<string>;

  /** `allowedHosts`: comma list of `host:port` or `host`; a bare host allows ports 80 and 443. Throws `CONFIG_INVALID`. */
  constructor(allowedHosts = '') {
    this.#allowed = new Set(allowedHosts.split(',').map((entry) => entry.trim()).filter(Boolean).flatMap(allowedEndpoints));
  }

  /**
   * The parsed address (after `base`, when relative), or `URL_REFUSED`: scheme, credentials, port, reserved names and literal addresses
   * are judged here; what a name resolves to is judged when connecting.
   */
  check(address: string, base?: string): URL {
    const url = parseWebUrl(address, base);
    if (this.allows(url.hostname, portOf(url))) return url;
    if (url.port !== '') throw refused(url, `uses port ${url.port}; only 80 and 443 are open`);
    const name = url.hostname;
    if (DENIED_NAMES.has(name) || name.endsWith('.localhost')) throw privateHost(url);
    const literal = literalAddress(name);
    if (literal !== null && !isPublicAddress(literal)) throw privateHost(url);
    return url;
  }

  /** The address a redirect leads to, judged like a first one; and https never leads to http, where anybody could have changed the page. */
  checkRedirect(from: URL, location: string): URL {
    const to = this.check(location, from.href);
    if (from.protocol === 'https:' && to.protocol === 'http:') throw refused(to, 'is where an https page redirects without encryption');
    return to;
  }

  /** Whether the operator named this host and port. */
  allows(host: string, port: number): boolean {
    return this.#allowed.has(endpoint(host, port));
  }

  /** Throws `URL_REFUSED` unless every address is public. One private answer among public ones refuses all of them. */
  checkResolved(host: string, addresses: readonly string[]): void {
    if (!addresses.every(isPublicAddress)) throw privateHost({ host });
  }
}

/** The bare IP address of a URL's host name, or null when it is a name. Brackets of IPv6 are taken off. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : null;
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function endpoint(host: string, port: number): string {
  return `${host}:${port}`;
}

function allowedEndpoints(entry: string): string[] {
  let url: URL;
  try {
    url = parseWebUrl(`http://${entry}`);
  } catch (cause) {
    throw invalidEntry(entry, cause);
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || entry.includes('*')) throw invalidEntry(entry);
  const hasPort = /:\d+$/.test(entry);
  return hasPort ? [endpoint(url.hostname, portOf(url))] : [endpoint(url.hostname, 80), endpoint(url.hostname, 443)];
}

function invalidEntry(entry: string, cause?: unknown): QuaestorError {
  return new QuaestorError('CONFIG_INVALID', `WEB_ALLOW_PRIVATE_HOSTS has the entry "${entry}", which is neither host nor host:port.`, { cause });
}

function privateHost({ host }: { host: string }): QuaestorError {
  return refused({ host }, 'is not on the public internet; name it in WEB_ALLOW_PRIVATE_HOSTS if it may be read');
}

function refused({ host }: { host: string }, reason: string): QuaestorError {
  return new QuaestorError('URL_REFUSED', `The host ${host} ${reason}.`);
}
