import { QuaestorError, type HostPolicy, type SearchHit } from '#contracts';
import type { ToolPorts } from '../ports/tool.ts';
import { isDocumentUrl } from './canonical-url.ts';

const DEFAULT_PORTS: Record<string, string> = { 'https:': '443', 'http:': '80' };
const HOSTS_SHOWN = 5;

/**
 * Whether a run with this policy may open a canonical address. Hosts match exactly; an allowed host means https on its standard port, unless
 * its entry says otherwise. Documents of the folder are not on any host. Pure.
 */
export function admitsHost(policy: HostPolicy, address: string): boolean {
  if (isDocumentUrl(address)) return true;
  const url = new URL(address);
  const port = url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? '') : url.port;
  const host = url.hostname.replace(/\.$/, '');
  const names = (entry: string): boolean => entry === host || entry === `${host}:${port}`;
  if (policy.denied.some((entry) => names(entry.replace(/^http:\/\//, '')))) return false;
  return policy.allowed === null || policy.allowed.some((entry) => isEntryFor(entry, url.protocol, host, port));
}

function isEntryFor(entry: string, protocol: string, host: string, port: string): boolean {
  const isPlain = entry.startsWith('http://');
  if (protocol !== (isPlain ? 'http:' : 'https:')) return false;
  const bare = isPlain ? entry.slice('http://'.length) : entry;
  return bare === `${host}:${port}` || (bare === host && port === DEFAULT_PORTS[protocol]);
}

/** The outside world within a run's policy: other hosts are refused before anything is sent, also behind a redirect, and left out of results. */
export function withHostPolicy(ports: ToolPorts, policy: HostPolicy | null): ToolPorts {
  if (policy === null) return ports;
  const admit = (address: string): void => {
    if (!admitsHost(policy, address)) throw new QuaestorError('URL_REFUSED', `The address ${JSON.stringify(address.slice(0, 200))} is outside of the hosts that this run may read${allowedWords(policy)}.`);
  };
  const canonicalUrl = (address: string): string => {
    const url = ports.pages.canonicalUrl(address);
    admit(url);
    return url;
  };
  return {
    ...ports,
    pages: { canonicalUrl, read: (address, signal) => ports.pages.read(canonicalUrl(address), signal, admit) },
    search: {
      id: ports.search.id,
      async search(query, limit, signal) {
        const answer = await ports.search.search(query, limit, signal);
        const hits = answer.hits.filter((hit) => isAdmitted(policy, hit));
        const outside = answer.hits.length - hits.length;
        return outside === 0 ? answer : { hits, degraded: [answer.degraded, `${outside} of the results are on hosts that this run may not read.`].filter(Boolean).join(' ') };
      },
    },
  };
}

const allowedWords = ({ allowed }: HostPolicy): string => (allowed === null ? '' : ` (allowed: ${allowed.slice(0, HOSTS_SHOWN).join(', ')}${allowed.length > HOSTS_SHOWN ? ', ...' : ''})`);

function isAdmitted(policy: HostPolicy, { url }: SearchHit): boolean {
  try {
    return admitsHost(policy, url);
  } catch {
    return false;
  }
}
