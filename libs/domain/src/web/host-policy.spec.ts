import { describe, expect, it } from 'vitest';
import { HostEntry, type HostPolicy } from '#contracts';
import type { ToolPorts } from '../ports/tool.ts';
import { canonicalUrl } from './canonical-url.ts';
import { admitsHost, withHostPolicy } from './host-policy.ts';

const policyOf = (allowed: string[] | null, denied: string[] = []): HostPolicy => ({ allowed: allowed && HostEntry.array().parse(allowed), denied: HostEntry.array().parse(denied) });

describe('HostEntry', () => {
  it.each([
    ['Example.ORG', 'example.org'], ['example.org.', 'example.org'], ['example.org:443', 'example.org:443'], ['https://example.org', 'example.org'],
    ['http://Example.org', 'http://example.org'], ['HTTP://example.org:8080', 'http://example.org:8080'], ['bücher.example', 'xn--bcher-kva.example'], ['[2001:DB8::1]', '[2001:db8::1]'],
  ])('reads %s as %s', (text, entry) => {
    expect(HostEntry.parse(text)).toBe(entry);
    expect(HostEntry.parse(entry)).toBe(entry);
  });

  it.each(['', ' ', '*.example.org', 'example.org/path', 'user@example.org', 'example.org?x', 'example.org#x', 'ftp://example.org', 'a b', 'example.org..', 'example.org:99999', 'e%78ample.org', 'https://'])('refuses "%s"', (text) => {
    expect(HostEntry.safeParse(text).success).toBe(false);
  });
});

describe('admitsHost', () => {
  const allowed = policyOf(['e.test', 'port.test:8443', 'http://plain.test', 'http://both.test:8080']);
  it.each([
    ['https://e.test/a', true], ['https://E.TEST/', true], ['https://e.test:443/', true], ['https://e.test/#part', true], ['https://e.test./', true],
    ['http://e.test/', false], ['https://e.test:8443/', false], ['https://sub.e.test/', false], ['https://evil-e.test/', false], ['https://e.test.evil.test/', false],
    ['https://port.test:8443/', true], ['https://port.test/', false], ['http://plain.test/', true], ['https://plain.test/', false], ['http://plain.test:8080/', false], ['http://both.test:8080/', true],
    ['doc:guide.md', true],
  ])('with allowed hosts, %s: %s', (address, expected) => {
    expect(admitsHost(allowed, canonicalUrl(address))).toBe(expected);
  });

  it.each([
    ['https://no.test/', false], ['http://no.test/', false], ['https://no.test:8443/', false], ['https://half.test/', true], ['https://half.test:8443/', false], ['https://sub.no.test/', true], ['https://yes.test/', true],
  ])('with denied hosts, %s: %s', (address, expected) => {
    expect(admitsHost(policyOf(null, ['no.test', 'half.test:8443']), canonicalUrl(address))).toBe(expected);
  });

  it('a denied host is denied although it is allowed', () => {
    expect(admitsHost(policyOf(['e.test'], ['e.test']), 'https://e.test/')).toBe(false);
  });
});

describe('withHostPolicy', () => {
  const read: string[] = [];
  const ports = {
    pages: {
      canonicalUrl,
      read: async (url: string, _signal: AbortSignal, admit?: (address: string) => void) => {
        read.push(url);
        if (url.endsWith('/moved')) admit?.('https://other.test/');
        return { url };
      },
    },
    search: { id: 's', search: async () => ({ hits: ['https://e.test/1', 'https://other.test/2', 'javascript:1', 'nothing'].map((url, index) => ({ rank: index + 1, url, title: '', snippet: '' })) }) },
  } as unknown as ToolPorts;
  const policed = withHostPolicy(ports, policyOf(['e.test']));
  const signal = new AbortController().signal;
  const refusal = expect.objectContaining({ code: 'URL_REFUSED', message: expect.stringContaining('(allowed: e.test)') as string });

  it('[Q-29] refuses other hosts before anything is sent, and behind a redirect', async () => {
    expect(() => policed.pages.canonicalUrl('https://other.test/')).toThrow(refusal);
    expect(() => policed.pages.canonicalUrl('https://e.test@other.test/')).toThrow(expect.objectContaining({ code: 'URL_REFUSED' }));
    expect(() => policed.pages.read('https://other.test/', signal)).toThrow(refusal);
    expect(read).toEqual([]);
    await expect(policed.pages.read('https://e.test/moved', signal)).rejects.toEqual(refusal);
    expect(await policed.pages.read('HTTPS://e.test/ok#x', signal)).toEqual({ url: 'https://e.test/ok' });
  });

  it('leaves results on other hosts out, and says so', async () => {
    expect(await policed.search.search('q', 10, signal)).toMatchObject({ hits: [{ url: 'https://e.test/1' }], degraded: '3 of the results are on hosts that this run may not read.' });
    expect(withHostPolicy(ports, null)).toBe(ports);
  });
});
