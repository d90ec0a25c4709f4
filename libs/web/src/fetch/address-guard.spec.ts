import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AddressGuard, isPublicAddress } from './address-guard.ts';

const refused = expect.objectContaining({ code: 'URL_REFUSED' });
const guard = new AddressGuard();

describe('[Q-29] AddressGuard', () => {
  it.each([
    // the twelve spellings of this machine
    'http://127.0.0.1/', 'http://127.1/', 'http://0x7f.1/', 'http://0177.0.0.1/', 'http://2130706433/', 'http://①②⑦.⓪.⓪.①/', 'http://0.0.0.0/',
    'http://[::]/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/', 'http://localhost/', 'http://localhost./',
    // S-01: further spellings that parse to it
    'http://0x7f000001/', 'http://00000177.1/', 'http://127.0.1/', 'http://127.0.0.1./', 'http://127。0。0。1/', 'http://127．0｡0．1/',
    'http://%31%32%37.0.0.1/', 'http:127.0.0.1', 'http:/127.0.0.1/', 'http:\\\\127.0.0.1\\', '\thttp://127.0.0.1/', 'ht\ntp://127.0.0.1/',
    // S-02: metadata services
    'http://0xA9FEA9FE/', 'http://2852039166/', 'http://0251.0376.0251.0376/', 'http://169.254.43518/', 'http://metadata.google.internal/',
    'http://metadata.google.internal./', 'http://instance-data/', 'http://100.100.100.200/', 'http://192.0.0.192/', 'http://169.254.170.2/',
    'http://168.63.129.16/', 'http://[fd00:ec2::254]/',
    // S-04: IPv6
    'http://[0:0:0:0:0:0:0:1]/', 'http://[::127.0.0.1]/', 'http://[64:ff9b::7f00:1]/', 'http://[64:ff9b:1::1]/', 'http://[2002:7f00:1::]/',
    'http://[2001::1]/', 'http://[fe80::1]/', 'http://[fec0::1]/', 'http://[fc00::1]/', 'http://[ff02::1]/', 'http://[2001:db8::1]/', 'http://[fe80::1%25eth0]/',
    // S-08: parser differentials
    'http://127.0.0.1#@a.com', 'http://a.com@127.0.0.1', 'http://127.0.0.1%23.a.com', 'http://127.0.0.1%00.a.com/',
    'http://12\t7.0.0.1/', 'http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/', 'http://sub.localhost/',
    // S-09: schemes and ports
    'file:///etc/passwd', 'ftp://a.com/', 'gopher://a.com:6379/_x', 'dict://a.com/', 'ldap://a.com/', 'data:text/html,x', 'blob:http://a.com/1',
    'javascript:alert(1)', 'view-source:http://a.com/', 'jar:http://a.com!/x', 'ws://a.com/', 'http://a.com:22/', 'http://a.com:25/', 'http://a.com:3306/',
    'http://a.com:6379/%0d%0aFLUSHALL', 'https://a.com:8443/', 'http://a.com:443/',
  ])('refuses %j', (address) => {
    expect(() => guard.check(address)).toThrow(refused);
  });

  it.each(['http://example.com/', 'https://example.com./a', 'http://1.1.1.1/', 'https://[2606:4700::1111]/', 'http://[64:ff9b::808:808]/', 'http://[::ffff:8.8.8.8]/', 'http://127.0.0.1.nip.io/', 'http://a.com\\@127.0.0.1/'])(
    'accepts %s until it is resolved',
    (address) => {
      expect(guard.check(address).protocol).toMatch(/^https?:$/);
    },
  );

  it('[S-03] knows the first, last and neighbouring address of each special range', () => {
    const ranges: [first: string, last: string][] = [
      ['0.0.0.0', '0.255.255.255'], ['10.0.0.0', '10.255.255.255'], ['100.64.0.0', '100.127.255.255'], ['127.0.0.0', '127.255.255.255'],
      ['169.254.0.0', '169.254.255.255'], ['172.16.0.0', '172.31.255.255'], ['192.0.0.0', '192.0.0.255'], ['192.0.2.0', '192.0.2.255'],
      ['192.168.0.0', '192.168.255.255'], ['198.18.0.0', '198.19.255.255'], ['198.51.100.0', '198.51.100.255'], ['203.0.113.0', '203.0.113.255'],
      ['224.0.0.0', '255.255.255.255'],
    ];
    for (const [first, last] of ranges) {
      expect([first, isPublicAddress(first)]).toEqual([first, false]);
      expect([last, isPublicAddress(last)]).toEqual([last, false]);
      const before = neighbour(first, -1);
      const behind = neighbour(last, 1);
      if (before !== null) expect([before, isPublicAddress(before)]).toEqual([before, true]);
      if (behind !== null) expect([behind, isPublicAddress(behind)]).toEqual([behind, true]);
    }
  });

  it('judges IPv4 inside IPv6 as the IPv4 address it leads to', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const isPublic = isPublicAddress(address);
        expect(isPublicAddress(`::ffff:${hex}`)).toBe(isPublic);
        expect(isPublicAddress(`64:ff9b::${hex}`)).toBe(isPublic);
        expect(isPublicAddress(`2002:${hex}::`)).toBe(isPublic);
        expect(isPublicAddress(`::${hex}`)).toBe(false);
      }),
    );
  });

  it('agrees with an own classification of random IPv4 addresses', () => {
    const octet = fc.nat(255);
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), (octets) => {
        expect(isPublicAddress(octets.join('.'))).toBe(isPublicByHand(octets));
      }),
      { numRuns: 20_000 },
    );
  });

  it('[S-06] follows a redirect anywhere public, but never from https to http', () => {
    const from = (address: string) => new URL(address);
    expect(guard.checkRedirect(from('http://a.com/x/y'), '../z').href).toBe('http://a.com/z');
    expect(guard.checkRedirect(from('http://a.com/'), '//b.com/').href).toBe('http://b.com/');
    expect(guard.checkRedirect(from('http://a.com/'), 'https://a.com/').href).toBe('https://a.com/');
    expect(() => guard.checkRedirect(from('https://a.com/'), 'http://a.com/')).toThrow(refused);
    expect(() => guard.checkRedirect(from('https://a.com/'), '//127.1/')).toThrow(refused);
  });

  it('opens a private host by its exact name and port only', () => {
    const lenient = new AddressGuard('127.0.0.1:8080, intranet, [::1]:9000');
    expect(lenient.check('http://127.0.0.1:8080/a').host).toBe('127.0.0.1:8080');
    expect(lenient.check('http://127.1:8080/a').host).toBe('127.0.0.1:8080');
    expect(lenient.check('http://intranet/').host).toBe('intranet');
    expect(lenient.check('https://intranet/').host).toBe('intranet');
    expect(lenient.check('http://[::1]:9000/').host).toBe('[::1]:9000');
    for (const address of ['http://127.0.0.1/', 'http://127.0.0.1:8081/', 'http://127.0.0.2:8080/', 'http://intranet:8080/', 'http://localhost:8080/']) {
      expect(() => lenient.check(address)).toThrow(refused);
    }
  });

  it.each(['*.example.com', 'http://a.com', 'a.com/path', 'user@a.com', 'a b'])('refuses the allow-list entry "%s"', (entry) => {
    expect(() => new AddressGuard(entry)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(entry) }));
  });
});

function neighbour(address: string, step: 1 | -1): string | null {
  const number = address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0) + step;
  if (number < 0 || number > 0xffffffff) return null;
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

function isPublicByHand([a, b, c, d]: [number, number, number, number]): boolean {
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if ((a === 100 && b >= 64 && b < 128) || (a === 169 && b === 254) || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168)) return false;
  if ((a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) || (a === 203 && b === 0 && c === 113)) return false;
  if (a === 192 && ((b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99) || (b === 31 && c === 196) || (b === 52 && c === 193) || (b === 175 && c === 48))) return false;
  return !(a === 168 && b === 63 && c === 129 && d === 16);
}
