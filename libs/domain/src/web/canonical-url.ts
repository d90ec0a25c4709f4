import { QuaestorError } from '#contracts';

/** Query keys that say where a reader came from and never what the page is. `utm_*` is matched by its prefix. */
const TRACKING_KEYS = new Set(['gclid', 'fbclid']);

const URL_CHARS_MAX = 4_096;

/**
 * The identity of a page: scheme and host in lower case, default port, fragment, one trailing dot and tracking keys dropped; the order and
 * spelling of everything else is kept. `doc:` addresses name a file of the document folder. Applying it twice changes nothing.
 * Throws `URL_REFUSED` for what is not an address, carries credentials, or has a scheme other than `http`, `https` and `doc`.
 */
export function canonicalUrl(address: string): string {
  if (address.length > URL_CHARS_MAX) throw refused(address.slice(0, 100), `is longer than ${URL_CHARS_MAX} characters`);
  if (isDocumentUrl(address)) return documentUrl(documentPath(address));
  const url = parseWebUrl(address);
  url.hash = '';
  url.search = withoutTracking(url.search);
  return url.href;
}

/** An absolute http or https address without credentials, its host freed of one trailing dot. Throws `URL_REFUSED`. */
export function parseWebUrl(address: string, base?: string): URL {
  const url = parse(address, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused(address, 'has a scheme other than http and https');
  if (url.username !== '' || url.password !== '') throw refused(address, 'carries a user name or password');
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  if (url.hostname === '' || url.hostname.endsWith('.')) throw refused(address, 'has no valid host name');
  return url;
}

/** Whether an address belongs to the document folder. */
export function isDocumentUrl(address: string): boolean {
  return /^\s*doc:/i.test(address);
}

/** The address of a file of the document folder, from its `/`-separated path below that folder. Throws `URL_REFUSED`. */
export function documentUrl(path: string): string {
  return `doc:${checkedSegments(path, path).map(encodeSegment).join('/')}`;
}

/** The path that a `doc:` address names; a fragment is ignored. Throws `URL_REFUSED` for anything that could leave the folder. */
export function documentPath(address: string): string {
  const encoded = address.trim().slice('doc:'.length).split('#', 1)[0] ?? '';
  const decoded = encoded.split('/').map((segment) => decodeSegment(segment, address));
  return checkedSegments(decoded.join('/'), address, decoded.length).join('/');
}

function parse(address: string, base: string | undefined): URL {
  try {
    return new URL(address, base);
  } catch (cause) {
    throw refused(address, 'is not a valid absolute address', cause);
  }
}

function withoutTracking(search: string): string {
  if (search.length < 2) return '';
  const kept = search.slice(1).split('&').filter((pair) => !isTracking(pair));
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}

function isTracking(pair: string): boolean {
  const key = (pair.split('=', 1)[0] ?? '').toLowerCase();
  return key.startsWith('utm_') || TRACKING_KEYS.has(key);
}

function checkedSegments(path: string, address: string, expectedCount?: number): string[] {
  const segments = path.split('/');
  const isSafe = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..' && !/[\\\0]/.test(segment));
  // An encoded slash would make more segments than the address shows.
  if (!isSafe || (expectedCount !== undefined && segments.length !== expectedCount)) {
    throw refused(address, 'does not name a file inside the document folder');
  }
  return segments;
}

function encodeSegment(segment: string): string {
  try {
    return encodeURIComponent(segment);
  } catch (cause) {
    throw refused(segment, 'is not well-formed text', cause);
  }
}

function decodeSegment(segment: string, address: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw refused(address, 'has a broken percent escape', cause);
  }
}

function refused(address: string, reason: string, cause?: unknown): QuaestorError {
  return new QuaestorError('URL_REFUSED', `The address ${JSON.stringify(address)} ${reason}.`, { cause });
}
