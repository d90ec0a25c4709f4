import { stripControlCharacters } from '#domain';
import pc from 'picocolors';

export interface Terminal {
  /** Whether stderr shows a live view. */
  isLive: boolean;
  columns(): number;
  colors: ReturnType<typeof pc.createColors>;
  /** One line for people, on stderr. */
  note(line: string): void;
  /** While a live view holds the screen, lines go through it. Undefined: straight to stderr again. */
  redirectNotes(sink: ((line: string) => void) | undefined): void;
  /** Raw text on stderr. */
  writeError(text: string): void;
  /** Results, on stdout; resolves when they are handed over, so that an exit cannot cut them. */
  print(text: string): Promise<void>;
}

const COLUMNS_DEFAULT = 80;

export function createTerminal(noColor: boolean): Terminal {
  const isLive = process.stderr.isTTY === true;
  // A reader that has gone away (`| head`) is no error of ours.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let noteSink: ((line: string) => void) | undefined;
  return {
    isLive,
    columns: () => process.stderr.columns || COLUMNS_DEFAULT,
    colors: pc.createColors(isLive && !noColor),
    note: (line) => (noteSink ? noteSink(line) : void process.stderr.write(`${line}\n`)),
    redirectNotes: (sink) => {
      noteSink = sink;
    },
    writeError: (text) => void process.stderr.write(text),
    print: (text) => new Promise((resolve) => void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`, () => resolve())),
  };
}

/** Text of models and pages, safe to print: nothing in it can move the cursor or colour the screen. */
export const printable = (text: string): string => stripControlCharacters(text);

/** The same in one line. */
export const printableLine = (text: string): string => printable(text).replace(/\s+/g, ' ').trim();
