export interface HttpRequest {
  method: string;
  /** Path with query, as sent. */
  target: string;
  /** Lower-case names. */
  header(name: string): string | undefined;
  body: string;
  bodyBytes: number;
}

const HEAD_END = '\r\n\r\n';

/**
 * Cuts one connection's bytes into HTTP/1.1 requests. Knows what HTTP clients send to a model: content-length and chunked bodies,
 * keep-alive. Node's own server costs several times more CPU per call, and this process shares its cores with the system it measures.
 */
export class HttpRequests {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #neededBytes = 0;

  /** Complete requests, oldest first; incomplete bytes are kept for the next call. */
  push(bytes: Buffer): HttpRequest[] {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    const requests: HttpRequest[] = [];
    while (this.#pendingBytes > 0 && this.#pendingBytes >= this.#neededBytes) {
      const whole = this.#pending.length === 1 ? this.#pending[0]! : Buffer.concat(this.#pending);
      const taken = takeRequest(whole);
      this.#pending = [typeof taken === 'number' ? whole : whole.subarray(taken.length)];
      this.#pendingBytes = this.#pending[0]!.length;
      this.#neededBytes = typeof taken === 'number' ? taken : 0;
      if (typeof taken === 'number') break;
      requests.push(taken.request);
    }
    return requests;
  }
}

/** One request and the bytes it took, or how many bytes must be there before another look is worth it. */
function takeRequest(bytes: Buffer): { request: HttpRequest; length: number } | number {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return bytes.length + 1;
  const head = bytes.toString('latin1', 0, headEnd);
  const bodyStart = headEnd + HEAD_END.length;
  const header = (name: string): string | undefined => new RegExp(`\r\n${name}: *([^\r]*)`, 'i').exec(head)?.[1];
  const isChunked = /\r\ntransfer-encoding: *chunked/i.test(head);
  const body = isChunked ? takeChunkedBody(bytes, bodyStart) : takeSizedBody(bytes, bodyStart, Number(header('content-length') ?? 0));
  if (typeof body === 'number') return body;
  const [method = '', target = ''] = head.slice(0, head.indexOf('\r\n') < 0 ? undefined : head.indexOf('\r\n')).split(' ');
  return { request: { method, target, header, body: body.text, bodyBytes: body.bytes }, length: body.end };
}

type Body = { text: string; bytes: number; end: number };

function takeSizedBody(bytes: Buffer, start: number, length: number): Body | number {
  const end = start + length;
  return bytes.length < end ? end : { text: bytes.toString('utf8', start, end), bytes: length, end };
}

function takeChunkedBody(bytes: Buffer, start: number): Body | number {
  const parts: Buffer[] = [];
  for (let offset = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', offset);
    if (lineEnd < 0) return bytes.length + 1;
    const size = Number.parseInt(bytes.toString('latin1', offset, lineEnd), 16);
    const dataEnd = lineEnd + 2 + size;
    if (bytes.length < dataEnd + 2) return dataEnd + 2;
    if (size === 0) {
      const body = Buffer.concat(parts);
      return { text: body.toString('utf8'), bytes: body.length, end: dataEnd + 2 };
    }
    parts.push(bytes.subarray(lineEnd + 2, dataEnd));
    offset = dataEnd + 2;
  }
}
