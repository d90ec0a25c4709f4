import { assertNever } from '#contracts';
import type { CitationLedger } from './citation-ledger.ts';
import { inlineTokens, isCitationMark, type InlineToken } from './markdown-inline.ts';

export const UNVERIFIED_MARK = ' (unverified: not read in this run)';
const LINK_END = /(?:\[\d+\]|not read in this run\))$/;

export interface RewrittenText {
  text: string;
  /** Numbers of the sources cited, in order, each once. */
  cited: readonly number[];
  /** What stands for each link in `text`, such as `Tides [1]`: names of sources, not words of the report. */
  labels: readonly string[];
}

/** Replaces every link of one block by the number of its source, or marks it; takes images out. */
export function rewriteLinks(block: string, ledger: CitationLedger): RewrittenText {
  const cited = new Set<number>();
  const tokens = inlineTokens(block);
  const pieces = tokens.map((token) => rewriteToken(token, ledger, cited));
  const labels = pieces.filter((piece, index) => tokens[index]?.kind !== 'text' && LINK_END.test(piece));
  return { text: joined(pieces), cited: [...cited], labels };
}

// What takes the place of a token must not make a link or an image with its new neighbour, as `[1]` would with `(`.
function joined(pieces: readonly string[]): string {
  let text = '';
  let last: string | undefined;
  for (const piece of pieces) {
    const first = piece[0];
    text += (last === ']' && first === '(') || (last === '!' && first === '[') ? `\\${piece}` : piece;
    last = piece.at(-1) ?? last;
  }
  return text;
}

function rewriteToken(token: InlineToken, ledger: CitationLedger, cited: Set<number>): string {
  switch (token.kind) {
    case 'text':
    case 'code':
      return token.text;
    case 'image':
      return '';
    case 'link':
      return rewriteLink(token.label, token.target, ledger, cited);
    case 'address':
      return rewriteAddress(token.target, ledger, cited);
    case 'reference':
      return rewriteReference(token, ledger, cited);
    default:
      return assertNever(token);
  }
}

function rewriteLink(label: string, target: string, ledger: CitationLedger, cited: Set<number>): string {
  if (target.startsWith('#')) return rewriteLabel(label, ledger, cited);
  if (isAddressOf(label, target)) return rewriteAddress(target, ledger, cited);
  const number = note(ledger.cite(target), cited);
  if (number === null) return rewriteLabel(label, ledger, cited) + UNVERIFIED_MARK;
  if (isCitationMark(label) || isCitationMark(/^\\?\[(.*?)\\?\]$/.exec(label)?.[1] ?? '')) return `[${number}]`;
  return `${rewriteLabel(label, ledger, cited).trim() || ledger.title(number)} [${number}]`;
}

// Links do not nest: inside a label only images and raw HTML still matter.
function rewriteLabel(label: string, ledger: CitationLedger, cited: Set<number>): string {
  const tokens = inlineTokens(label);
  return joined(tokens.map((token) => (token.kind === 'reference' ? `\\[${token.label.replace(/[[\]]/g, '')}\\]` : rewriteToken(token, ledger, cited))));
}

const isAddressOf = (label: string, target: string): boolean => {
  const plain = label.trim().replace(/^<|>$/g, '');
  return plain === target || `https://${plain}` === target || `http://${plain}` === target;
};

function rewriteAddress(address: string, ledger: CitationLedger, cited: Set<number>): string {
  const number = note(ledger.cite(address), cited);
  // Code is the one form that no renderer turns into a link by itself.
  return number === null ? `\`${address.replaceAll('`', '')}\`${UNVERIFIED_MARK}` : `${ledger.title(number)} [${number}]`;
}

function rewriteReference({ label, reference }: { label: string; reference: string }, ledger: CitationLedger, cited: Set<number>): string {
  if (isCitationMark(label)) return label.split(/[,;]/).map((mark) => rewriteMark(mark.trim(), ledger, cited)).join('');
  const address = ledger.resolve(reference);
  if (address !== null) return rewriteLink(label, address, ledger, cited);
  return `[${rewriteLabel(label, ledger, cited)}]${reference === label ? '' : `[${reference}]`}`;
}

// A bare `[7]` looks like one of our numbers, so it may stand only if it is one.
function rewriteMark(mark: string, ledger: CitationLedger, cited: Set<number>): string {
  const address = ledger.resolve(mark);
  const number = note(ledger.cite(address ?? `[${mark}]`), cited);
  return number === null ? `(${mark}${UNVERIFIED_MARK.replace(' (', ', ').slice(0, -1)})` : `[${number}]`;
}

function note(number: number | null, cited: Set<number>): number | null {
  if (number !== null) cited.add(number);
  return number;
}
