/** UTF-8 bytes of ordinary text that one token covers; English prose needs fewer tokens than this says, JSON and code about as many. */
const BYTES_PER_TOKEN = 3.6;

/**
 * Tokens a text will cost, on the safe side: UTF-8 bytes / 3.6, but one token for each character of the CJK planes; rounded up.
 * Used for reservations only; the provider's own count is the truth. One pass without a copy, far below 1 ms per 100 KB.
 */
export function estimateTokens(text: string): number {
  let bytes = 0;
  let wide = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit <= 0xdfff) bytes += 2;
    else if (unit >= 0x2e80) wide += 1;
    else bytes += 3;
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN + wide);
}
