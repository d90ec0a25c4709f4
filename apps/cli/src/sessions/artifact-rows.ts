import { createReadStream, createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { QuaestorError } from '#contracts';
import { refuseSession, SessionRecovery } from '#domain';
import { cutAtFrames } from './zstd-frames.ts';

const READ_BYTES = 1024 * 1024;
const WRITE_CHARS = 1024 * 1024;
/** A longer row is no event but a broken file, and would fill the memory. */
const ROW_BYTES_MAX = 256 * 1024 * 1024;
const NEWLINE = 10;

export const isCompressed = (file: string): boolean => file.endsWith('.zstd');

export interface ReadRowsOptions {
  /** Called for an artifact whose end is broken, with why; its whole part is read then. Without it such an artifact is refused. */
  recovered?: ((fault: QuaestorError) => void) | undefined;
}

/**
 * The rows of an artifact, parsed one by one, in bounded memory.
 * @throws QuaestorError `SESSION_INVALID` naming the row that is no JSON; `NOT_FOUND` for a file that cannot be read
 */
export async function* readRows(file: string, { recovered }: ReadRowsOptions = {}): AsyncGenerator<unknown, void, undefined> {
  let row = 0;
  const recovery = recovered && new SessionRecovery();
  for await (const { line, isWhole } of readLines(file)) {
    const number = ++row;
    const read = (): unknown => parseRow(line, number, isWhole);
    const found = recovery ? recovery.push(read) : { value: read() };
    if (found) yield found.value;
  }
  if (recovery?.fault) recovered?.(recovery.fault);
  if (row === 0) refuseSession(1, 'is missing: the file is empty');
}

function parseRow(line: Buffer, row: number, isWhole: boolean): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return refuseSession(row, isWhole ? 'is not JSON' : 'is cut off: the file ends in the middle of it');
  }
}

interface Line {
  line: Buffer;
  /** False for a last line without its end. */
  isWhole: boolean;
}

async function* readLines(file: string): AsyncGenerator<Line, void, undefined> {
  const bytes = createReadStream(file, { highWaterMark: READ_BYTES });
  const source = isCompressed(file) ? decompressed(bytes) : bytes;
  let parts: Buffer[] = [];
  let partBytes = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        parts.push(chunk.subarray(start, end));
        yield { line: parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts), isWhole: true };
        [parts, partBytes, start] = [[], 0, end + 1];
      }
      if (start < chunk.length) parts.push(chunk.subarray(start));
      partBytes += chunk.length - start;
      if (partBytes > ROW_BYTES_MAX) throw new QuaestorError('SESSION_INVALID', `A row of ${file} is longer than ${ROW_BYTES_MAX} bytes.`);
    }
  } catch (error) {
    throw asReadError(error, file);
  }
  if (partBytes > 0) yield { line: Buffer.concat(parts), isWhole: false };
}

function decompressed(bytes: Readable): Readable {
  const frames = Readable.from(cutAtFrames(bytes));
  const target = frames.pipe(createZstdDecompress());
  frames.on('error', (error) => target.destroy(error));
  return target;
}

function asReadError(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (['ENOENT', 'EISDIR', 'EACCES'].includes(code)) return new QuaestorError('NOT_FOUND', `The file ${file} cannot be read (${code}).`);
  if (code.startsWith('ZSTD') || code === 'Z_DATA_ERROR') return new QuaestorError('SESSION_INVALID', `The file ${file} is not whole Zstandard data.`);
  return error;
}

function asWriteError(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'EEXIST') return new QuaestorError('SESSION_EXISTS', `The file ${file} exists already.`);
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'EROFS'].includes(code) ? new QuaestorError('NOT_FOUND', `The file ${file} cannot be written (${code}).`) : error;
}

export interface RowWriter {
  write(row: unknown): Promise<void>;
  /** Everything is on the disk when this resolves. */
  close(): Promise<void>;
}

/**
 * Writes rows into a file that must not exist yet.
 * @throws QuaestorError `SESSION_EXISTS`; `NOT_FOUND` for a folder that is missing or closed to us
 */
export async function openRowWriter(file: string, compressed: boolean): Promise<RowWriter> {
  const target = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  await once(target, 'open').catch((error: unknown) => {
    throw asWriteError(error, file);
  });
  const sink = compressed ? createZstdCompress() : target;
  if (sink !== target) sink.pipe(target);
  let buffered: string[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    const text = buffered.join('');
    [buffered, chars] = [[], 0];
    if (text !== '' && !sink.write(text)) await once(sink, 'drain');
  };
  return {
    write: async (row) => {
      const line = `${JSON.stringify(row)}\n`;
      buffered.push(line);
      chars += line.length;
      if (chars >= WRITE_CHARS) await flush();
    },
    close: async () => {
      await flush();
      sink.end();
      await finished(target);
    },
  };
}
