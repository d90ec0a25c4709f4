/** Time and identity as arguments, so that rules stay pure and tests decide both. */
export interface Clock {
  nowMs(): number;
}

export interface IdSource {
  /** 17 random bytes or more; only the first 130 bits are used. */
  randomBytes(): Uint8Array;
}
