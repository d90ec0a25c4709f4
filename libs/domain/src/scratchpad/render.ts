import type { ScratchpadContent, ScratchpadEntry } from '../ports/tool.ts';
import { stripControlCharacters } from '../text/sanitize.ts';

const STRUCTURE_LINE = /^(?=(?:[^\S\n]|\\)*(?:\[\d+\][^\S\n]*\(|WORKING BODY|APPENDED ENTRIES))/gim;

/** What a model reads of an empty pad. */
export const EMPTY_SCRATCHPAD = 'The scratchpad is empty: nothing has been written yet.';

/**
 * The scratchpad as a model reads it: the body, then numbered entries with their authors. Authors come from the server; a line inside a
 * text that looks like a section title or the start of an entry is set behind a backslash, so no entry can speak for another author.
 */
export function renderScratchpad({ body, entries }: ScratchpadContent): string {
  if (body.trim() === '' && entries.length === 0) return EMPTY_SCRATCHPAD;
  const shownBody = body.trim() === '' ? '(empty)' : quoted(body);
  const shownEntries = entries.length === 0 ? '(none)' : entries.map(renderEntry).join('\n\n');
  return `WORKING BODY\n${shownBody}\n\nAPPENDED ENTRIES\n${shownEntries}`;
}

const renderEntry = (entry: ScratchpadEntry, index: number): string => `[${index + 1}] (${authorName(entry)}) ${quoted(entry.text)}`;

const authorName = ({ author, worker }: ScratchpadEntry): string => (author === 'supervisor' || worker === null ? author : `worker ${worker}`);

const quoted = (text: string): string => stripControlCharacters(text).trim().replace(STRUCTURE_LINE, '\\');
