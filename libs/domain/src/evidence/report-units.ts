import { inlineTokens, isCitationMark } from './markdown-inline.ts';

/** One block of a report. `code` is passed through; a `quote` is a block quote; citations and quotes meet within one unit. */
export interface ReportUnit {
  kind: 'text' | 'quote' | 'code' | 'blank';
  text: string;
}

const FENCE = /^(`{3,}(?=[^`]*$)|~{3,})/;
const QUOTE = /^ {0,3}>/;
const STARTS_UNIT = /^\s*(?:[-*+•]\s|\d{1,9}[.)]\s|#{1,6}\s|\||([-*_=])(?:[ \t]*\1)*[ \t]*$)/;
const ENDS_UNIT = /^\s*(?:#{1,6}\s|\||([-*_=])(?:[ \t]*\1)*[ \t]*$)/;

/**
 * Splits Markdown into paragraphs, list items, table rows, headings, block quotes and fenced code; joined by `\n` the units are the text
 * again. Only a fence at the very start of a line counts, because only there every renderer agrees that it is code.
 */
export function reportUnits(markdown: string): ReportUnit[] {
  const units: ReportUnit[] = [];
  let fence: string | null = null;
  for (const line of markdown.split('\n')) {
    const mark = FENCE.exec(line)?.[1] ?? null;
    const open = units.at(-1);
    if (fence !== null) {
      appendLine(open, line);
      if (mark !== null && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = null;
    } else if (mark !== null) {
      fence = mark;
      units.push({ kind: 'code', text: line });
    } else if (continues(open, line)) appendLine(open, line);
    else units.push({ kind: kindOf(line), text: line });
  }
  if (fence !== null) appendLine(units.at(-1), fence);
  return units;
}

function continues(open: ReportUnit | undefined, line: string): boolean {
  const kind = kindOf(line);
  if (open === undefined || kind === 'blank' || open.kind === 'blank' || open.kind === 'code') return false;
  if (kind === 'quote' || open.kind === 'quote') return kind === open.kind;
  return !STARTS_UNIT.test(line) && !ENDS_UNIT.test(open.text);
}

function kindOf(line: string): ReportUnit['kind'] {
  if (line.trim() === '') return 'blank';
  return QUOTE.test(line) ? 'quote' : 'text';
}

function appendLine(unit: ReportUnit | undefined, line: string): void {
  if (unit !== undefined) unit.text += `\n${line}`;
}

const SOURCES_HEADING = /^\s*(?:#{1,6}\s+|\*\*|__)?(?:\d+[.)]\s*)?(?:sources?|references|citations|bibliography|works cited)(?:\s+(?:used|cited|read))?\s*:?(?:\*\*|__)?\s*:?\s*#*\s*$/i;
const HEADING_CHARS_MAX = 60;
const LISTED = /^\s*(?:[-*+•]\s|\d{1,3}[.)]\s|\[\^?\w{1,32}\]|\|)|https?:\/\/|\bdoc:/i;
const DEFINITION = /^ {0,3}\[([^[\]]{1,200})\]:\s*(\S.*)$/;
const NUMBERED = /^\s*(?:[-*+•]\s+)?(?:\[(\d{1,3})\]|(\d{1,3})[.)])\s*:?\s*(\S.*)$/;
const DESTINATION = /^<?([^\s<>]+)>?(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*$/;

/** What a model wrote about its sources, taken apart from what it says. */
export interface ReportParts {
  body: ReportUnit[];
  /** The model's own list of sources, which ours replaces; empty when it wrote none. */
  ownSources: ReportUnit[];
  /** Reference label in lower case -> address. */
  references: Map<string, string>;
}

/** Takes out link definitions (`[1]: address`) and a list of sources at the end, and learns from both what reference marks mean. */
export function reportParts(markdown: string): ReportParts {
  const references = new Map<string, string>();
  const units = reportUnits(markdown).flatMap((unit) => (unit.kind === 'code' ? [unit] : withoutDefinitions(unit, references)));
  const heading = units.findLastIndex((unit) => unit.kind === 'text' && unit.text.length <= HEADING_CHARS_MAX && SOURCES_HEADING.test(unit.text));
  const listed = units.slice(heading + 1).filter((unit) => unit.kind !== 'blank');
  if (heading === -1 || !listed.every((unit) => LISTED.test(unit.text))) return { body: units, ownSources: [], references };
  for (const unit of listed) for (const line of unit.text.split('\n')) learn(references, NUMBERED.exec(line));
  return { body: units.slice(0, heading), ownSources: listed, references };
}

function withoutDefinitions(unit: ReportUnit, references: Map<string, string>): ReportUnit[] {
  const kept = unit.text.split('\n').filter((line) => {
    const match = DEFINITION.exec(line);
    return match === null || !learn(references, [match[0], match[1], undefined, match[2]]);
  });
  return kept.length === 0 ? [] : [{ ...unit, text: kept.join('\n') }];
}

function learn(references: Map<string, string>, match: readonly (string | undefined)[] | null): boolean {
  const label = match?.[1] ?? match?.[2];
  const rest = match?.[3] ?? '';
  const address = firstAddress(rest) ?? (isCitationMark(label ?? '') ? undefined : DESTINATION.exec(rest)?.[1]);
  if (label === undefined || address === undefined) return false;
  if (!references.has(label.toLowerCase())) references.set(label.toLowerCase(), address);
  return true;
}

function firstAddress(text: string): string | undefined {
  for (const token of inlineTokens(text)) if (token.kind === 'link' || token.kind === 'address') return token.target;
  return undefined;
}
