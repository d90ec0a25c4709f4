import { Readability } from '@mozilla/readability';
import { convert } from 'html-to-text';
import { parseHTML } from 'linkedom';
import { htmlToMarkdown } from 'mdream';

/** Share of the page's text that an extractor must keep to be believed; below it, it most likely missed the main part. */
const READABILITY_SHARE_MIN = 0.4;
const DEFUDDLE_SHARE_MIN = 0.3;

export interface ExtractedHtml {
  /** As the extractor cleaned it; empty when it found none. */
  title: string;
  text: string;
  extraction: string;
}

/**
 * Main content of a page as Markdown: Readability, which is best on articles; else Defuddle, which is best on forums, products and lists;
 * else the whole page as text without its navigation. Runs in the extraction child only: hostile pages can make it hang.
 */
export async function extractHtml(html: string, url: string): Promise<ExtractedHtml> {
  const page = withRoot(html);
  const wholeText = pageText(page);
  const article = attempt(() => new Readability(parseHTML(page).document).parse());
  if (article?.content && isEnough(article.textContent ?? '', wholeText, READABILITY_SHARE_MIN)) {
    return { title: article.title || '', text: toMarkdown(article.content, url), extraction: 'readability' };
  }
  const defuddled = await defuddle(page, url);
  if (defuddled !== null && isEnough(pageText(defuddled.content), wholeText, DEFUDDLE_SHARE_MIN)) {
    return { title: defuddled.title, text: toMarkdown(defuddled.content, url), extraction: 'defuddle' };
  }
  return { title: article?.title || '', text: wholeText, extraction: 'html-to-text' };
}

/** The parser builds no root of its own, although the tags for it may be left out. */
function withRoot(html: string): string {
  if (/<html[\s>]/i.test(html)) return html;
  return /<body[\s>]/i.test(html) ? `<html>${html}</html>` : `<html><body>${html}</body></html>`;
}

function pageText(html: string): string {
  return convert(html, {
    wordwrap: false,
    selectors: [
      ...['title', 'nav', 'header', 'footer', 'aside', 'img', 'form', 'button'].map((selector) => ({ selector, format: 'skip' })),
      { selector: 'a', options: { ignoreHref: true } },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
      { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false } },
    ],
  });
}

/** `useAsync: false`, or it would ask third parties about the page. */
async function defuddle(html: string, url: string): Promise<{ title: string; content: string } | null> {
  const { Defuddle } = await import('defuddle/node');
  try {
    return await Defuddle(parseHTML(html).document, url, { useAsync: false });
  } catch {
    return null;
  }
}

function toMarkdown(html: string, url: string): string {
  return htmlToMarkdown(html, { origin: url, clean: true });
}

function isEnough(text: string, wholeText: string, share: number): boolean {
  return text.length > 0 && text.length >= wholeText.length * share;
}

/** An extractor that throws on a page is an extractor that found nothing; a stack overflow is not caught by it, it ends the task. */
function attempt<Value>(work: () => Value): Value | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return null;
  }
}
