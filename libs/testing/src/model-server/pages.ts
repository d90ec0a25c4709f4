import { randomSource, sentences, words } from './words.ts';

export const PAGE_COUNT = 64;
const SMALLEST_BYTES = 20_000;
const LARGEST_OVER_SMALLEST = 9.75;

/** A fixture page in both forms the fixture web serves. */
export interface FixturePage {
  title: string;
  html: Buffer;
  text: Buffer;
}

const paragraph = (seed: number): string => sentences(90, seed);

function navigation(seed: number): string {
  const items = Array.from({ length: 60 }, (_, i) => `<li><a class="nav-item" href="/section/${i}">${words(2, seed * 101 + i)}</a></li>`);
  return `<nav><ul>${items.join('')}</ul></nav>`;
}

function footer(seed: number): string {
  const links = Array.from({ length: 40 }, (_, i) => `<a href="/about/${i}">${words(2, seed * 211 + i)}</a>`);
  return `<footer>${links.join(' ')}</footer>`;
}

const ADVERTS = Array.from({ length: 6 }, (_, i) => `<aside class="advert"><img src="/image/${i}.png" alt=""><span>${words(4, 900 + i)}</span></aside>`).join('');
const STYLE = `<style>${'.card{margin:0;padding:4px;color:#333}'.repeat(60)}</style>`;
const SCRIPT = `<script>${'window.q=window.q||[];q.push(["view",1]);'.repeat(60)}</script>`;

function section(seed: number, index: number): { html: string; text: string } {
  const base = seed * 100_003 + index * 17;
  const heading = words(5, base);
  const paragraphs = Array.from({ length: 4 }, (_, i) => paragraph(base + i + 1));
  const body = paragraphs.map((text, i) => `<p class="paragraph" data-key="${index}-${i}">${text} <a href="/related/${index}/${i}">${words(3, base + 9)}</a> &amp; more.</p>`);
  return {
    html: `<section class="card"><h2 id="part-${index}">${heading}</h2>${body.join('')}</section>\n`,
    text: `${heading}\n\n${paragraphs.join('\n\n')}\n\n`,
  };
}

function buildPage(seed: number): FixturePage {
  const title = `Report ${seed}: ${words(6, seed)}`;
  // sizes are spread evenly on a log scale, so most pages are small and a few are large
  const targetBytes = SMALLEST_BYTES * LARGEST_OVER_SMALLEST ** randomSource(1_000 + seed)();
  const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${STYLE}${SCRIPT}</head><body>${navigation(seed)}`;
  let html = `${head}<main><article><h1>${title}</h1>`;
  let text = `${title}\n\n`;
  const foot = `</article></main>${ADVERTS}${footer(seed)}</body></html>`;
  for (let index = 0; html.length + foot.length < targetBytes; index++) {
    const part = section(seed, index);
    html += part.html;
    text += part.text;
  }
  return { title, html: Buffer.from(html + foot), text: Buffer.from(text) };
}

let built: FixturePage[] | undefined;

/** The 64 fixture pages, 20 to 200 KB of HTML each: one article between navigation, adverts and footer. Built once, on first use. */
export const fixturePages = (): FixturePage[] => (built ??= Array.from({ length: PAGE_COUNT }, (_, seed) => buildPage(seed)));
