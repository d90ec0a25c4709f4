import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { QuaestorError } from '#contracts';

type Decompress = (body: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECOMPRESSORS: Record<string, Decompress> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** What we ask servers for; an answer in anything else is refused. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';

/**
 * Collects a body of at most `bytesMax` bytes; destroying the stream is the caller's. Throws `PAGE_TOO_LARGE` as soon as one byte more
 * arrives, so an endless body costs no more than a large one.
 */
export async function collectBody(body: AsyncIterable<Uint8Array>, bytesMax: number, host: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw tooLarge(host, bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** Undoes at most one content encoding; decompression itself stops at `bytesMax`. Throws `PAGE_TOO_LARGE` or `PAGE_FETCH_FAILED`. */
export async function decodeBody(body: Buffer, contentEncoding: string, bytesMax: number, host: string): Promise<Buffer> {
  const encoding = contentEncoding.trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return body;
  const decompress = Object.hasOwn(DECOMPRESSORS, encoding) ? DECOMPRESSORS[encoding] : undefined;
  if (decompress === undefined) {
    throw new QuaestorError('PAGE_FETCH_FAILED', `The host ${host} sent the content encoding ${JSON.stringify(encoding.slice(0, 40))}, which was not asked for.`);
  }
  try {
    return await decompress(body, { maxOutputLength: bytesMax });
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(host, bytesMax);
    throw new QuaestorError('PAGE_FETCH_FAILED', `The host ${host} sent a body that is not valid ${encoding}.`, { cause });
  }
}

export function tooLarge(host: string, bytesMax: number): QuaestorError {
  return new QuaestorError('PAGE_TOO_LARGE', `The page of ${host} is larger than ${bytesMax} bytes (WEB_PAGE_BYTES_MAX).`);
}
