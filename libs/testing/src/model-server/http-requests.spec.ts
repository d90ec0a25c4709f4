import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HttpRequests } from './http-requests.ts';

const sized = 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"a":"é"}'.replace('9', String(Buffer.byteLength('{"a":"é"}')));
const chunked = 'POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n';
const bodiless = 'GET /search?q=x HTTP/1.1\r\nHost: a\r\n\r\n';
const bytes = Buffer.from(sized + chunked + bodiless);

it('finds the same requests however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), (cuts) => {
      const requests = new HttpRequests();
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const found = edges.slice(1).flatMap((end, index) => requests.push(bytes.subarray(edges[index], end)));
      expect(found.map(({ method, target, body }) => [method, target, body])).toEqual([
        ['POST', '/v1/chat/completions', '{"a":"é"}'],
        ['POST', '/b', 'hello world'],
        ['GET', '/search?q=x', ''],
      ]);
    }),
  );
});
