import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelMessage, SourceId, ToolCallId } from '#contracts';
import { findQuote, foldText } from '../evidence/find-quote.ts';
import { readPageFrame, renderResult } from '../tools/render-result.ts';
import { foldInterest, foldPage } from './fold-page.ts';

const rendered = (text: string, page = 0): string => renderResult({ kind: 'page', sourceId: 'src_1' as SourceId, url: 'https://a.test/x', title: 'Leases', page, pages: 3 }, text);
const filler = (words: number): string => Array.from({ length: words }, (_, index) => `filler${index}`).join(' ');
const page = `${filler(300)}.\n\nA lease is a right with an end, says the registry. More follows here.\n\n${filler(300)}.\n\nThe harbour tariff of 1911 was nine pence a ton.\n\n${filler(200)}.`;
const bodyOf = (folded: string): string => readPageFrame(folded)!.body;

describe('foldPage', () => {
  it('keeps the head, what was quoted, what suits the searches best, and the way back', () => {
    const folded = foldPage(rendered(page, 1), { query: 'harbour tariff', quotes: ['a right with an end, says the registry'] });
    expect(folded).toMatch(/^Title: Leases\nURL: https:\/\/a\.test\/x\nPage: 1 of 3 \(pages 0 to 2\)\nChars: \d+\n---\n/);
    expect(bodyOf(folded).split('\n\n[…]\n\n')).toEqual([expect.stringMatching(/^filler0 /), 'a right with an end, says the registry', 'The harbour tariff of 1911 was nine pence a ton.']);
    expect(folded).toMatch(/scroll_web_page with page 1 .* both free\.$/);
    expect(folded.length).toBeLessThan(1_000);
  });

  it('keeps the beginning of a page that suits nothing', () => {
    expect(bodyOf(foldPage(rendered(page), { query: 'zebra', quotes: ['never written anywhere'] }))).toMatch(/^filler0 filler1/);
  });

  it('leaves alone what is no page, or is shorter than its fold', () => {
    const interest = { query: 'lease', quotes: [] };
    for (const text of ['ERROR PAGE_NOT_LOADED: no', '', rendered('short page')]) expect(foldPage(text, interest)).toBe(text);
  });

  it('[Q-23] keeps only what stands in the page, whatever the page and the searches are', () => {
    const word = fc.constantFrom('lease', 'right', 'Ümlaut', '北京', '😀', '"quoted"', '---', 'Chars: 3', 'end.', '\n', '\n\n', ' ');
    fc.assert(
      fc.property(fc.array(word, { minLength: 200, maxLength: 600 }), fc.array(word, { maxLength: 4 }), (words, asked) => {
        const text = words.join(' ');
        const folded = readPageFrame(foldPage(rendered(text), { query: asked.join(' '), quotes: [asked.join(' ')] }))!;
        const source = foldText(text);
        // a passage of punctuation alone has nothing that could be found
        for (const passage of folded.body.split('\n\n[…]\n\n').filter((part) => /[\p{L}\p{N}\p{S}]/u.test(part))) expect(findQuote(passage.replace(/…$/, ''), source)).not.toEqual([]);
      }),
    );
  });
});

describe('foldInterest', () => {
  const asking = (name: string, args: string): ModelMessage => ({ role: 'assistant', content: '', toolCalls: [{ toolCallId: 'call_1' as ToolCallId, providerCallId: null, name, arguments: args }] });

  it('reads searches and quotes off calls, and the task where nothing was searched', () => {
    const task: ModelMessage = { role: 'user', content: 'the task' };
    expect(foldInterest([task])).toEqual({ query: 'the task', quotes: [] });
    const messages = [task, asking('perform_web_search', '{"query":"first"}'), asking('search_web_page', '{"url":"x","query":"second"}'), asking('append_scratchpad', '{"note":"It says \\"a right with an end\\" and “so on and so on”, \\"no\\"."}')];
    expect(foldInterest(messages)).toEqual({ query: 'first\nsecond', quotes: ['a right with an end', 'so on and so on'] });
  });

  it('takes nothing from arguments that cannot be read', () => {
    for (const broken of ['', 'null', '[]', '{"query":5}', '{"note":', '7']) expect(foldInterest([asking('x', broken)])).toEqual({ query: '', quotes: [] });
  });
});
