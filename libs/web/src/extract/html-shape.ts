import { decodeEntities } from './html-text.ts';
import { scanHtml, type HtmlTag } from './scan-html.ts';

const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr']);
/** Their end tags are commonly left out, so counting them would report depth that no parser builds. */
const SELF_CLOSED = new Set(['p', 'li', 'dt', 'dd', 'td', 'th', 'tr', 'option', 'thead', 'tbody', 'tfoot', 'colgroup', 'rp', 'rt']);
/** Names of what pages put around and between their own text. */
const CLUTTER = /comment|related|sidebar|share|social|promo|newsletter|recommend|advert|cookie|breadcrumb|pagination|popup|modal/i;
const HIDDEN = /\shidden[\s>=]|aria-hidden|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0/i;
/** A link's or picture's attributes are addresses; words in them say nothing about the layout. */
const ADDRESSED = new Set(['a', 'img', 'source', 'picture', 'link', 'meta']);
const TAG_CHARS_MAX = 1_000;

/** Elements that never belong to the main content; the converter drops them, so what is inside them is not measured. */
export const DROPPED_ELEMENTS: readonly string[] = ['nav', 'aside', 'footer', 'form', 'fieldset', 'button', 'select', 'object', 'embed', 'input'];
const DROPPED = new Set(DROPPED_ELEMENTS);

export interface MainRegion {
  start: number;
  end: number;
  /** Characters of text inside that are kept, and how many of them belong to links. */
  textChars: number;
  linkChars: number;
  /** Whether anything inside is hidden or named like an accessory of the page. */
  isCluttered: boolean;
}

export interface HtmlShape {
  /** Deepest nesting of elements. */
  depth: number;
  /** Content of `<title>`, or an empty string. */
  title: string;
  /** The only `<article>` of the page, else its only `<main>`, else null. */
  main: MainRegion | null;
}

interface Totals {
  textChars: number;
  linkChars: number;
  clutter: number;
}

/** One linear pass that says how a page is built, without building its tree. */
export function measureHtml(html: string): HtmlShape {
  const measure = new Measure(html);
  scanHtml(html, (tag) => measure.tag(tag), (start, end) => measure.text(end - start));
  return measure.shape();
}

class Measure {
  readonly #html: string;
  readonly #totals: Totals = { textChars: 0, linkChars: 0, clutter: 0 };
  readonly #article = new RegionFinder();
  readonly #main = new RegionFinder();
  #depth = 0;
  #depthMax = 0;
  #droppedDepth = 0;
  #isInLink = false;
  #title = '';

  constructor(html: string) {
    this.#html = html;
  }

  tag(tag: HtmlTag): void {
    this.#nest(tag);
    if (tag.name === 'a') this.#isInLink = !tag.isClosing;
    else if (tag.name === 'article') this.#article.tag(tag, this.#totals);
    else if (tag.name === 'main') this.#main.tag(tag, this.#totals);
    else if (tag.name === 'title' && this.#title === '') this.#title = this.#textOf(tag);
    if (this.#droppedDepth === 0 && !tag.isClosing && this.#isClutter(tag)) this.#totals.clutter++;
  }

  text(chars: number): void {
    if (this.#droppedDepth > 0) return;
    this.#totals.textChars += chars;
    if (this.#isInLink) this.#totals.linkChars += chars;
  }

  shape(): HtmlShape {
    return { depth: this.#depthMax, title: this.#title, main: this.#article.region() ?? (this.#article.isAbsent ? this.#main.region() : null) };
  }

  #nest({ name, isClosing }: HtmlTag): void {
    if (VOID.has(name) || SELF_CLOSED.has(name)) return;
    if (DROPPED.has(name)) this.#droppedDepth = Math.max(0, this.#droppedDepth + (isClosing ? -1 : 1));
    if (isClosing) this.#depth = Math.max(0, this.#depth - 1);
    else this.#depthMax = Math.max(this.#depthMax, ++this.#depth);
  }

  #isClutter({ name, start, end }: HtmlTag): boolean {
    if (end - start <= name.length + 2) return false;
    if (end - start > TAG_CHARS_MAX) return !ADDRESSED.has(name);
    const tag = this.#html.slice(start, end);
    return HIDDEN.test(tag) || (!ADDRESSED.has(name) && CLUTTER.test(tag));
  }

  #textOf({ start, end }: HtmlTag): string {
    const content = /^<[^>]*>([^<]*)/.exec(this.#html.slice(start, Math.min(end, start + 2_000)))?.[1] ?? '';
    return decodeEntities(content).replace(/\s+/g, ' ').trim();
  }
}

/** Finds the bounds of an element that occurs once, with what the totals gained inside it. */
class RegionFinder {
  #opened = 0;
  #start = 0;
  #before: Totals | null = null;
  #region: MainRegion | null = null;

  get isAbsent(): boolean {
    return this.#opened === 0;
  }

  tag({ isClosing, start, end }: HtmlTag, totals: Totals): void {
    if (!isClosing) {
      if (++this.#opened > 1) return;
      this.#start = start;
      this.#before = { ...totals };
    } else if (this.#before !== null && this.#region === null) {
      const { textChars, linkChars, clutter } = this.#before;
      this.#region = {
        start: this.#start,
        end,
        textChars: totals.textChars - textChars,
        linkChars: totals.linkChars - linkChars,
        isCluttered: totals.clutter > clutter,
      };
    }
  }

  region(): MainRegion | null {
    return this.#opened === 1 ? this.#region : null;
  }
}
