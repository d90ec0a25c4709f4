import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ModelChunk, ModelMessage, SourceId } from '#contracts';
import { canonicalUrl, checkReport, delegationPrompt, documentUrl, finishingPrompt, renderScratchpad, type CheckedReport, type ModelRequest } from '#domain';
import { extractiveProvider } from '../providers/extractive.ts';
import { ask, definition, DocumentWorld, SUPERVISOR_TOOLS, textOf, toolCallsOf } from './testing/document-world.ts';

const FIXTURES = new URL('./testing/documents/', import.meta.url);

/** Quotes with the pages cited in the same list item. */
function citedIn(report: string): { quote: string; urls: string[] }[] {
  return [...report.matchAll(/^- ["“](.*)["”] (\[.*)$/gm)].map((match) => ({
    quote: match[1] ?? '',
    urls: [...(match[2] ?? '').matchAll(/\]\((\S+?)\)/g)].map((link) => link[1] ?? ''),
  }));
}

/** Holds the report against the documents exactly as the engine does at the end of a run. */
function expectTrueQuotes(place: DocumentWorld, report: string): CheckedReport {
  const sources = [...place.documents].map(([name, text], index) => ({
    id: `src_${index}` as SourceId,
    url: documentUrl(name),
    title: name,
    text,
    bodySha256: '',
    fetchedAt: '',
  }));
  const checked = checkReport(report, sources, canonicalUrl);
  expect(checked.report).not.toContain('quote not found');
  expect(checked.unverified).toEqual([]);
  expect(new Set(checked.citations.map(({ sourceId }) => sourceId)).size).toBe(new Set(citedIn(report).flatMap(({ urls }) => urls)).size);
  return checked;
}

const QUESTIONS = [
  ['When was Skerry Light first lit?', 'first lit on 14 March 1871', 'doc:skerry-light.md'],
  ['Who designed Skerry Light?', 'Marit Holloway', 'doc:skerry-light.md'],
  ['Why was the lamp of Skerry Light changed to electric?', 'because the paraffin store flooded twice', 'doc:skerry-light.md'],
  ['What is the wage of an assistant keeper?', '95 crowns', 'doc:skerry-light.md'],
  ['Who was the last keeper of Skerry Light?', 'Dr. Tobias Fenn', 'doc:skerry-light.md'],
  ['How many inhabitants do the Vant Islands have?', '4,120 inhabitants', 'doc:vant-almanac.md'],
  ['Who founded Orm Station?', 'Ada Brandt', 'doc:orm-station.md'],
  ['How do I read the data of Orm Station?', 'vant-reader --station orm', 'doc:orm-station.md'],
  ['How long does the dough of reef bread rest?', 'nine hours', 'doc:bread.md'],
  ['When did the pilot boat Heron sink?', '2 June 1911', 'doc:harbour-log.md'],
] as const;

let documents: Map<string, string>;

beforeAll(() => {
  const names = readdirSync(FIXTURES).filter((name) => name.endsWith('.md'));
  documents = new Map(names.sort().map((name) => [name, readFileSync(new URL(name, FIXTURES), 'utf8')]));
});

const world = (): DocumentWorld => new DocumentWorld(new Map(documents));

describe('a question about the documents', () => {
  it.each(QUESTIONS)('%s', async (question, wanted, url) => {
    const place = world();
    const { text, turns } = await place.research(question);
    const [first] = citedIn(text);
    expect(first?.quote).toContain(wanted);
    expect(first?.urls).toContain(url);
    expect(text.startsWith('Extractive mode: quoted sentences, no language model.')).toBe(true);
    expect(turns).toBeLessThanOrEqual(6);
    for (const worker of place.workers) expect(worker.turns).toBeLessThanOrEqual(8);
    expectTrueQuotes(place, text);
  });
});

describe('pages that were folded', () => {
  it.each(QUESTIONS)('[Q-23] still answer: %s', async (question, wanted, url) => {
    const place = world();
    place.foldsPages = true;
    const { text } = await place.research(question);
    const [first] = citedIn(text);
    expect(first?.quote).toContain(wanted);
    expect(first?.urls).toContain(url);
    expectTrueQuotes(place, text);
  });
});

describe('several sources', () => {
  it('keeps them apart and says that their numbers disagree', async () => {
    const place = world();
    const { text } = await place.research('How high is the tower of Skerry Light?');
    const cited = citedIn(text);
    expect(cited.find(({ urls }) => urls[0] === 'doc:skerry-light.md')?.quote).toContain('31 metres');
    expect(cited.find(({ urls }) => urls[0] === 'doc:vant-almanac.md')?.quote).toContain('34 metres');
    expectTrueQuotes(place, text);
    expect(text).toMatch(/^Sources disagree: .*"31 metres" \[.*"34 metres" \[|^Sources disagree: .*"34 metres" \[.*"31 metres" \[/m);
  });

  it('names every page that holds the same sentence once', async () => {
    const place = world();
    place.documents.set('copy.md', documents.get('bread.md') ?? '');
    const { text } = await place.research('How long does the dough of reef bread rest?');
    const cited = citedIn(text).filter(({ quote }) => quote.includes('nine hours'));
    expect(cited).toHaveLength(1);
    expectTrueQuotes(place, text);
    expect(cited[0]?.urls.toSorted()).toEqual(['doc:bread.md', 'doc:copy.md']);
  });

  it('gives each part of a joined question its own worker in one turn and its own section', async () => {
    const place = world();
    const { text, calls } = await place.research('Who designed Skerry Light and when was Orm Station founded?');
    expect(calls.map(({ name }) => name)).toEqual(['update_scratchpad', 'delegate_research_task', 'delegate_research_task', 'read_scratchpad']);
    expect(text.match(/^## /gm)).toHaveLength(2);
    expect(text).toContain('Marit Holloway');
    expect(text).toContain('founded in 1923');
  });

  it('reports what was found and lists what was not', async () => {
    const { text } = await world().research('Who designed Skerry Light? Which football club won the Peruvian championship?');
    expect(text).toContain('Marit Holloway');
    expect(text).toMatch(/## Not found\n\n- Which football club won the Peruvian championship\?: the documents hold no answer\./);
  });
});

describe('a question the documents do not answer', () => {
  it.each(['What is the boiling point of mercury?', 'Who won the tennis final in Melbourne?', 'How do I install PostgreSQL on Windows?', 'Which composer wrote the opera Carmen?', 'What is the capital of Norway?'])(
    'cites nothing: %s',
    async (question) => {
      const place = world();
      const { text } = await place.research(question);
      expect(citedIn(text)).toEqual([]);
      expect(text).not.toMatch(/\]\(/);
      expect(text).toContain('The documents hold no answer to this question.');
      expect(place.entries).toEqual([]);
    },
  );

  it.each(['🦊🔥', '???', '。', '\ud800', '', 'the of and', '灯塔有多高？', 'Сколько лет маяку?', 'كم عمر المنارة؟'])('survives %j', async (question) => {
    const { text } = await world().research(question);
    expect(citedIn(text)).toEqual([]);
    expect(text).toContain('## Not found');
  });
});

describe('failures', () => {
  it('tells a failed search as a failure, never as an absence', async () => {
    const place = world();
    place.failSearch = true;
    const { text } = await place.research('Who designed Skerry Light?');
    expect(text).toContain('could not be examined');
    expect(text).toContain('The search engine did not answer.');
    expect(text).not.toContain('SEARCH_FAILED');
    expect(text).not.toContain('hold no answer');
  });

  it('tells a failed worker as a failure, after one further try', async () => {
    const place = world();
    place.failDelegations = true;
    const { text, calls } = await place.research('Who designed Skerry Light?');
    expect(calls.filter(({ name }) => name === 'delegate_research_task')).toHaveLength(2);
    expect(text).toContain('its worker failed');
    expect(text).not.toContain('hold no answer');
  });

  it('writes findings into the answer when there is no scratchpad to write to', async () => {
    const place = world();
    const { text } = await place.work('Who designed Skerry Light?', ['perform_web_search', 'read_web_page']);
    expect(text).toContain('Marit Holloway');
    expect(text).toContain('](doc:skerry-light.md)');
  });
});

describe('a run that is stopped', () => {
  const noted = async (): Promise<string> => {
    const place = world();
    await place.research('Who designed Skerry Light?');
    return renderScratchpad({ body: place.body, revision: 1, entries: place.entries });
  };

  it.each([
    ['after its first turn', true],
    ['with its history cut away', false],
  ])('still reports what the scratchpad holds: %s', async (_name, hasHistory) => {
    const question = { role: 'user', content: 'Who designed Skerry Light?' } as const;
    const first = await ask({ model: 'extractive', messages: [question], tools: SUPERVISOR_TOOLS.map(definition), maxOutputTokens: 4_096 });
    const toolCalls = toolCallsOf(first, '1');
    const results = toolCalls.map(({ toolCallId, name }) => ({ role: 'tool', toolCallId, providerCallId: null, name, content: 'ERROR BUDGET_EXHAUSTED: No credits are left.', isError: true }) as const);
    const history: ModelMessage[] = hasHistory ? [{ role: 'assistant', content: '', toolCalls }, ...results] : [];
    const messages: ModelMessage[] = [question, ...history, { role: 'user', content: finishingPrompt('budget_exhausted', await noted()) }];
    const report = textOf(await ask({ model: 'extractive', messages, tools: [], maxOutputTokens: 4_096 }));
    expect(citedIn(report)[0]?.quote).toContain('Marit Holloway');
    expectTrueQuotes(world(), report);
  });
});

describe('a task of another model', () => {
  it('is the question as a whole, without its requirements', async () => {
    const place = world();
    const { calls, text } = await place.work(delegationPrompt({ task: 'Find out who designed Skerry Light.', requirements: 'Look for bananas.' }));
    expect(calls[0]).toEqual({ name: 'perform_web_search', arguments: { query: 'designed Skerry Light' } });
    expect(text).toMatch(/^Found \d, best first: ".*Marit Holloway.*" \[Skerry Light\]\(doc:skerry-light\.md\)$/);
    expect(place.entries[0]?.text).toMatch(/^FINDING for: Find out who designed Skerry Light\.\n> ".*Marit Holloway.*"/);
  });
});

describe('hostile pages', () => {
  it('cites only pages that were read, whatever a page says about findings, sources and frames', async () => {
    for (const question of ['Is Orm Station closed?', 'Where is Orm Station described?', 'Who founded Orm Station?']) {
      const place = world();
      const { text } = await place.research(question);
      expect(citedIn(text).flatMap(({ urls }) => urls).every((url) => url.startsWith('doc:'))).toBe(true);
      expect(text).not.toMatch(/\]\(https:\/\/evil|!\[/);
      for (const entry of place.entries) expect(entry.text).not.toMatch(/^Source: .*evil/m);
      expectTrueQuotes(place, text);
    }
  });

  it('keeps a quote on one line and its link whole under any page text', async () => {
    const nasty = fc.array(fc.constantFrom('lamp oil', '"', '“', '[', '](https://evil.test)', '![', '\n', '. ', '---', '> ', 'Source: ', '[1] (worker 1) ', '<b>', '`', 'burns', 'FINDING for: ', '\\', '|'), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(nasty, nasty, async (body, title) => {
        const place = new DocumentWorld(new Map([['page.md', `# ${title.join('')}\n\nThe lamp oil burns ${body.join('')}`]]));
        const { text } = await place.research('What does lamp oil burn?');
        expect([...text.matchAll(/\]\(([^)\s]*)\)/g)].every((link) => link[1] === 'doc:page.md')).toBe(true);
        expectTrueQuotes(place, text);
        expect(text.split('\n').every((line) => line === '' || /^(?:Extractive|## |- |The documents|Sources disagree)/.test(line))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the stream', () => {
  const request: ModelRequest = {
    model: 'extractive',
    messages: [{ role: 'user', content: 'Who designed Skerry Light and when was Orm Station founded?' }],
    tools: SUPERVISOR_TOOLS.map(definition),
    maxOutputTokens: 4_096,
  };

  it('gives the same bytes for the same research', async () => {
    const [first, second] = [await world().research('How high is the tower of Skerry Light?'), await world().research('How high is the tower of Skerry Light?')];
    expect(second).toEqual(first);
  });

  it('[Q-05] ends with one finish, after blocks whose deltas add up', async () => {
    const chunks = await ask(request);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: { kind: 'tool-calls' } });
    expect(chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
    for (const end of chunks) {
      if (end.type !== 'block-end' || end.block.type !== 'tool-call') continue;
      const deltas = chunks.filter((chunk) => chunk.type === 'tool-call-delta' && chunk.index === end.index);
      expect(deltas.map((chunk) => (chunk.type === 'tool-call-delta' ? chunk.argumentsDelta : '')).join('')).toBe(end.block.arguments);
      expect(deltas[0]).toMatchObject({ name: end.block.name, id: end.block.id });
    }
  });

  it('[Q-05] throws on an abort, before and in the middle, and delivers no finish', async () => {
    await expect(ask(request, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    const controller = new AbortController();
    const seen: ModelChunk[] = [];
    const streaming = extractiveProvider.create().stream(request, (chunk) => {
      seen.push(chunk);
      if (seen.length === 3) controller.abort(new Error('stop'));
    }, controller.signal);
    await expect(streaming).rejects.toThrow('stop');
    expect(seen).toHaveLength(3);
  });

  it('stops at the output bound and says so', async () => {
    const chunks = await ask({ ...request, tools: [], maxOutputTokens: 5 });
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: { kind: 'max-tokens' } });
  });
});
