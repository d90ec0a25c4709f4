import { createHash } from 'node:crypto';

const BEARER = /^Bearer +(qk_[A-Za-z0-9_-]{20,128})$/i;

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The key of an `Authorization` header, or null for anything that cannot be one. */
export const bearerKey = (header: string | undefined): string | null => (header === undefined ? null : (BEARER.exec(header)?.[1] ?? null));

/** What of a key may be shown so that people can tell keys apart. */
export const shownPrefix = (key: string): string => key.slice(0, 9);
