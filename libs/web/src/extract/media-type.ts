import { parse } from 'content-type';

/** How a body is read. `binary` is not read at all. */
export type BodyKind = 'html' | 'pdf' | 'text' | 'binary';

export interface MediaType {
  /** Lower case, without parameters; empty when the server did not say. */
  type: string;
  charset: string | undefined;
}

const TEXT_TYPES = new Set(['application/json', 'application/xml', 'application/ld+json', 'application/x-yaml', 'application/yaml', 'application/rss+xml', 'application/atom+xml']);
const HTML_TYPES = new Set(['text/html', 'application/xhtml+xml']);
const SNIFFED_BYTES = 1_024;

export function parseMediaType(header: string): MediaType {
  try {
    const { type, parameters } = parse(header);
    return { type: type.toLowerCase(), charset: parameters.charset };
  } catch {
    return { type: '', charset: undefined };
  }
}

/** The bytes win over the header where they are plain: a PDF is a PDF whatever the server calls it. */
export function bodyKind(type: string, bytes: Uint8Array): BodyKind {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, SNIFFED_BYTES)).toString('latin1');
  if (head.includes('%PDF-')) return 'pdf';
  if (HTML_TYPES.has(type)) return 'html';
  if (type.startsWith('text/') || TEXT_TYPES.has(type)) return 'text';
  if (type !== '' && type !== 'application/octet-stream' && type !== 'binary/octet-stream') return 'binary';
  if (/<!doctype html|<html[\s>]/i.test(head)) return 'html';
  return head.includes('\0') ? 'binary' : 'text';
}

/** Media type of what was read, for a server that gave none. */
export function effectiveMediaType(type: string, kind: BodyKind): string {
  if (kind === 'pdf') return 'application/pdf';
  if (kind === 'html') return HTML_TYPES.has(type) ? type : 'text/html';
  return type.startsWith('text/') || TEXT_TYPES.has(type) ? type : 'text/plain';
}
