import type { AttemptId, ToolCallId } from '#contracts';

const ALPHABET = '0123456789abcdefghijklmnopqrstuv';
const ID_CHARS = 26;
const ID_BITS = BigInt(ID_CHARS * 5);
const ID_MASK = (1n << ID_BITS) - 1n;

const encode = (value: bigint): string => {
  let text = '';
  for (let rest = value & ID_MASK, position = 0; position < ID_CHARS; position++, rest >>= 5n) text = ALPHABET[Number(rest & 31n)] + text;
  return text;
};

const decode = (text: string): bigint => {
  let value = 0n;
  for (const char of text) value = (value << 5n) | BigInt(ALPHABET.indexOf(char));
  return value;
};

/** `prefix_` and 26 characters from 130 of the given random bits. Give at least 17 bytes. */
export function mintId<Id extends string>(prefix: string, randomBytes: Uint8Array): Id {
  let value = 0n;
  for (const byte of randomBytes.subarray(0, 17)) value = (value << 8n) | BigInt(byte);
  return `${prefix}_${encode(value)}` as Id;
}

/**
 * The id of call `callIndex` of an attempt: the attempt's own number plus the index. Pure, so a repeated settlement of one attempt mints
 * the same ids, and two attempts (130 random bits apart) never meet.
 */
export function deriveToolCallId(attemptId: AttemptId, callIndex: number): ToolCallId {
  return `call_${encode(decode(attemptId.slice(attemptId.indexOf('_') + 1)) + BigInt(callIndex) + 1n)}` as ToolCallId;
}

/** The bytes from which `mintId` mints this very id: 17 of them. */
export function bytesOfId(id: string): Uint8Array {
  const bytes = new Uint8Array(17);
  for (let rest = decode(id.slice(id.indexOf('_') + 1)), position = bytes.length - 1; position >= 0; position--, rest >>= 8n) bytes[position] = Number(rest & 255n);
  return bytes;
}

const OWN_ID = /^(run|thr|att|call|src|res|asst)_[0-9a-v]{26}$/;
const OWN_IDS = /(?:run|thr|att|call|src|res|asst)_[0-9a-v]{26}/g;

/** Old id -> new id. */
export type IdMap = <Id extends string>(id: Id) => Id;

/**
 * The one map by which a fork or an import mints new ids: every id moves by the same distance, so that an id that was derived from another -
 * a call's from its attempt's, a source's from its call's - is derived from that one's successor too. Pure; give at least 17 random bytes.
 */
export function idMapBy(distance: Uint8Array): IdMap {
  const step = decode(mintId('', distance).slice(1));
  return (id) => (OWN_ID.test(id) ? (`${id.slice(0, id.indexOf('_') + 1)}${encode(decode(id.slice(id.indexOf('_') + 1)) + step)}` as typeof id) : id);
}

/** A text of ids only, such as an effect key, with each of them mapped. */
export const mapIdsIn = (text: string, map: IdMap): string => text.replace(OWN_IDS, (id) => map(id));
