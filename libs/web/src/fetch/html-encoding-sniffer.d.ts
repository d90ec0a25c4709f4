declare module 'html-encoding-sniffer' {
  /** WHATWG name of a page's encoding: byte order mark, then the transport's label, then `<meta>`, then the default. */
  export default function sniff(bytes: Uint8Array, options?: { transportLayerEncodingLabel?: string; defaultEncoding?: string }): string;
}
