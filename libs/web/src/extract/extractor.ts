import { createHash } from 'node:crypto';
import { QuaestorError } from '#contracts';
import { codePointBoundary, oneLine, stripControlCharacters, type FetchedPage } from '#domain';
import { decodeText } from '../fetch/charset.ts';
import { ChildFailure, ChildPool } from './child-pool.ts';
import { extractPlainArticle, headingOf } from './fast-path.ts';
import { measureHtml } from './html-shape.ts';
import { stripHtml } from './html-text.ts';
import { bodyKind, effectiveMediaType, parseMediaType } from './media-type.ts';
import type { ExtractionTask } from './messages.ts';

/** Browsers stop nesting at 512 too; parsers that recurse need much less to overflow. */
const HTML_DEPTH_MAX = 512;
const TEXT_CHARS_MAX = 2_000_000;
const TITLE_CHARS_MAX = 500;
const PROBE_CHARS = 4_096;
const GARBAGE_SHARE_MAX = 0.1;
const CHILDREN_MAX = 2;

export interface ExtractorOptions {
  timeoutMs: number;
  /** Children that may work at once. Default 2. */
  children?: number;
}

export interface RawDocument {
  bytes: Uint8Array;
  /** Content-Type header, or an empty string. */
  contentType: string;
  /** Where it came from: base of its links, and its name in messages. */
  url: string;
  /** Title for a document that has none of its own. */
  fallbackTitle: string;
}

export type ExtractedDocument = Pick<FetchedPage, 'title' | 'mediaType' | 'text' | 'bodySha256' | 'extraction'>;

interface Won {
  title: string;
  text: string;
  extraction: string;
}

/**
 * Turns the bytes of a web page, PDF or text file into readable text. Whatever could hang or eat memory runs in child processes; HTML that
 * kills them still gives its bare text, marked `degraded:strip`. Throws `PAGE_UNREADABLE` when there is nothing to read. Safe to repeat.
 */
export class Extractor {
  readonly #pool: ChildPool;
  readonly #timeoutMs: number;

  constructor(options: ExtractorOptions) {
    this.#timeoutMs = options.timeoutMs;
    this.#pool = new ChildPool(options.children ?? CHILDREN_MAX);
  }

  async extract(document: RawDocument, signal: AbortSignal): Promise<ExtractedDocument> {
    const { type, charset } = parseMediaType(document.contentType);
    const kind = bodyKind(type, document.bytes);
    if (kind === 'binary') throw unreadable(document.url, `is ${type || 'a binary file'}, not text`);
    const won = kind === 'pdf' ? await this.#pdf(document, signal) : await this.#text(kind, decodeText(document.bytes, charset), document.url, signal);
    const text = bounded(stripControlCharacters(won.text).trim());
    if (text === '') throw unreadable(document.url, 'has no readable text; it may need a browser');
    return {
      title: oneLine(won.title || document.fallbackTitle).slice(0, TITLE_CHARS_MAX),
      mediaType: effectiveMediaType(type, kind),
      text,
      bodySha256: createHash('sha256').update(text, 'utf8').digest('hex'),
      extraction: won.extraction,
    };
  }

  /** Ends the children. Safe to repeat. */
  close(): void {
    this.#pool.close();
  }

  #text(kind: 'html' | 'text', text: string, url: string, signal: AbortSignal): Promise<Won> | Won {
    if (isGarbage(text)) throw unreadable(url, 'is not readable text in any encoding we know');
    if (kind === 'html') return this.#html(text, url, signal);
    return { title: headingOf(text), text, extraction: 'plain' };
  }

  async #html(html: string, url: string, signal: AbortSignal): Promise<Won> {
    const shape = measureHtml(html);
    if (shape.depth > HTML_DEPTH_MAX) return degraded(html, shape.title);
    const article = extractPlainArticle(html, shape, url);
    if (article !== null) return { ...article, extraction: 'article' };
    const answer = await this.#ask({ kind: 'html', html, url }, url, signal);
    if (answer === null || !answer.ok) return degraded(html, shape.title);
    return { title: answer.title || shape.title || headingOf(answer.text), text: answer.text, extraction: answer.extraction };
  }

  async #pdf({ bytes, url }: RawDocument, signal: AbortSignal): Promise<Won> {
    const answer = await this.#ask({ kind: 'pdf', bytes }, url, signal);
    if (answer === null) throw unreadable(url, `is a PDF that could not be read within ${this.#timeoutMs} ms and the memory allowed`);
    if (!answer.ok) throw unreadable(url, answer.message);
    return answer;
  }

  /** The child's answer, or null when it was killed or died over this document. */
  async #ask(task: ExtractionTask, url: string, signal: AbortSignal) {
    try {
      return await this.#pool.run(task, this.#timeoutMs, signal);
    } catch (error) {
      if (!(error instanceof ChildFailure)) throw error;
      if (error.reason === 'aborted') throw new QuaestorError('PAGE_FETCH_FAILED', `The reading of ${url} was stopped.`, { cause: error });
      return null;
    }
  }
}

function degraded(html: string, title: string): Won {
  return { title, text: stripHtml(html), extraction: 'degraded:strip' };
}

function bounded(text: string): string {
  return text.length <= TEXT_CHARS_MAX ? text : text.slice(0, codePointBoundary(text, TEXT_CHARS_MAX));
}

/** A wrong encoding or a binary file behind a text label shows in what no prose contains. */
function isGarbage(text: string): boolean {
  const probe = text.slice(0, PROBE_CHARS);
  const odd = probe.match(/[\u0000-\u0008\u000e-\u001a\u007f-\u009f\ufffd]/g)?.length ?? 0;
  return odd > probe.length * GARBAGE_SHARE_MAX;
}

function unreadable(url: string, reason: string): QuaestorError {
  return new QuaestorError('PAGE_UNREADABLE', `The document ${url} ${reason}.`);
}
