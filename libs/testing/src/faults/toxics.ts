/** What a proxy does to bytes on their way, in both directions, until it is healed. */
export interface Toxics {
  /** Each piece arrives this much later. */
  latencyMs: number;
  /** Up to this much more, by chance; the order of bytes stays. */
  jitterMs: number;
  /** Pieces of at most this many bytes, each a packet of its own; 0 = as they come. */
  sliceBytes: number;
  /** When one side ends, the other hears of it this much later. */
  closeDelayMs: number;
  /** A connection that has brought this many bytes back is cut in mid-reply; null = no limit. */
  replyBytesMax: number | null;
}

export const NO_TOXICS: Toxics = { latencyMs: 0, jitterMs: 0, sliceBytes: 0, closeDelayMs: 0, replyBytesMax: null };

/** `hold` keeps bytes until the proxy is healed; `swallow` drops them, and a connection that lost some never works again. */
export type Silence = 'none' | 'hold' | 'swallow';

/** A request whose reply the client must not hear. */
export interface ReplyCut {
  /** Bytes of the request, as latin1 text. */
  request: string;
  /** Requests with those bytes that still pass unharmed. */
  skip: number;
  /** Whether these bytes end the reply, so that the server has surely done what it was asked. */
  isWholeReply(reply: Buffer): boolean;
}

const HEADER_BYTES = 4;
const OK = 0x00;
const ERROR = 0xff;
const MORE_RESULTS = 0x08;

/** The end of MySQL's answer to a packet whose last statement is a write or COMMIT: an OK without further results, or an error. */
export function endsMysqlReply(reply: Buffer): boolean {
  let last: Buffer = Buffer.alloc(0);
  for (let offset = 0; offset + HEADER_BYTES < reply.length; offset += HEADER_BYTES + last.length) {
    last = reply.subarray(offset + HEADER_BYTES, offset + HEADER_BYTES + reply.readUIntLE(offset, 3));
  }
  if (last[0] === ERROR) return true;
  if (last[0] !== OK) return false;
  const status = 1 + numberBytes(last, 1) + numberBytes(last, 1 + numberBytes(last, 1));
  return (last.readUInt16LE(status) & MORE_RESULTS) === 0;
}

/** Bytes that the protocol spends on the number at `offset`. */
const numberBytes = (packet: Buffer, offset: number): number => ({ 0xfc: 3, 0xfd: 4, 0xfe: 9 })[packet[offset] ?? 0] ?? 1;
