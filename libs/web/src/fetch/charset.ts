import chardet from 'chardet';
import sniffEncoding from 'html-encoding-sniffer';

const UNDECLARED = 'x-undeclared';
/** Statistics settle on far less than this; the whole page would only cost time. */
const DETECTION_BYTES_MAX = 64 * 1024;

/**
 * Text of a page. A declared encoding (byte order mark, then HTTP label, then `<meta>`) wins. Without one, valid UTF-8 is UTF-8 and
 * anything else is guessed from the bytes; windows-1252, which accepts every byte, is the last resort.
 */
export function decodeText(bytes: Uint8Array, declaredLabel?: string): string {
  const declared = sniffEncoding(bytes, { transportLayerEncodingLabel: declaredLabel, defaultEncoding: UNDECLARED });
  if (declared !== UNDECLARED) return decoderFor(declared).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return decoderFor(chardet.detect(bytes.subarray(0, DETECTION_BYTES_MAX)) ?? 'windows-1252').decode(bytes);
  }
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    // Node has no decoder for a few names that pages and the detector use, such as ISO-2022-KR
    return new TextDecoder('windows-1252');
  }
}
