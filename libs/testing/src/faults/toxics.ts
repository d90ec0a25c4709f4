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

const OK_PACKET_BYTES = 11;
const MORE_RESULTS = 0x08;
const ERROR_HEADER = 0xff;

/** The end of MySQL's answer to a packet whose last statement is a write or COMMIT: an OK without further results, or an error. */
export function endsMysqlReply(reply: Buffer): boolean {
  if (reply[4] === ERROR_HEADER) return true;
  const ok = reply.subarray(-OK_PACKET_BYTES);
  return ok.length === OK_PACKET_BYTES && ok[0] === OK_PACKET_BYTES - 4 && ok[1] === 0 && ok[4] === 0 && (ok.readUInt16LE(7) & MORE_RESULTS) === 0;
}
