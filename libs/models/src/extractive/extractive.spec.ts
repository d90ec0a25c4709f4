import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ModelChunk, ModelMessage, ModelToolCall, ModelToolDefinition, ToolCallId } from '#contracts';
import {
  documentPath,
  documentUrl,
  findInText,
  pageCount,
  pageSlice,
  rankPassages,
  renderResult,
  renderScratchpad,
  snippetAt,
  type ModelRequest,
  type ScratchpadEntry,
} from '#domain';
import { extractiveProvider } from '../providers/extractive.ts';

const PAGE_CHARS = 4_000;
const FIXTURES = new URL('./fixtures/', import.meta.url);
const WORKER_TOOLS = ['perform_web_search', 'read_web_page', 'search_web_page', 'scroll_web_page', 'read_scratchpad', 'append_scratchpad'];
const SUPERVISOR_TOOLS = ['delegate_research_task', 'read_scratchpad', 'append_scratchpad', 'update_scratchpad'];

interface Called {
  name: string;
  arguments: Record<string, string | number>;
}

interface Ended {
  text: string;
  turns: number;
  calls: Called[];
  bytes: string;
}

/** The engine's tools over a map of documents, with the engine's own rendering. */
class World {
  readonly entries: ScratchpadEntry[] = [];
  readonly workers: Ended[] = [];
  body = '';
  failSearch = false;
  failDelegations = false;
  readonly documents: Map<string, string>;

  constructor(documents: Map<string, string>) {
    this.documents = documents;
  }

  async research(question: string): Promise<Ended> {
    return this.run(question, SUPERVISOR_TOOLS, 6, null);
  }

  async work(task: string, tools = WORKER_TOOLS): Promise<Ended> {
    return this.run(task, tools, 8, this.workers.length + 1);
  }

  private async run(question: string, tools: string[], turnsMax: number, worker: number | null): Promise<Ended> {
    const messages: ModelMessage[] = [
      { role: 'system', content: 'You are a test.' },
      { role: 'user', content: question },
    ];
    const calls: Called[] = [];
    const hash = createHash('sha256');
    for (let turn = 1; turn <= turnsMax; turn += 1) {
      if (turn === turnsMax) messages.push({ role: 'user', content: 'This is your last turn.' });
      const chunks = await ask({ model: 'extractive', messages, tools: turn === turnsMax ? [] : tools.map(definition), maxOutputTokens: 4_096 });
      hash.update(JSON.stringify(chunks));
      const asked = toolCallsOf(chunks, `${worker ?? 0}-${turn}`);
      messages.push({ role: 'assistant', content: textOf(chunks), ...(asked.length > 0 ? { toolCalls: asked } : {}) });
      if (asked.length === 0) return { text: textOf(chunks), turns: turn, calls, bytes: hash.digest('hex') };
      for (const call of asked) {
        const args = JSON.parse(call.arguments) as Called['arguments'];
        expect(tools).toContain(call.name);
        calls.push({ name: call.name, arguments: args });
        const content = await this.execute(call.name, args, worker);
        messages.push({ role: 'tool', toolCallId: call.toolCallId, providerCallId: call.providerCallId, name: call.name, content, isError: content.startsWith('ERROR ') });
      }
    }
    throw new Error('the run did not end');
  }

  private async execute(name: string, args: Called['arguments'], worker: number | null): Promise<string> {
    switch (name) {
      case 'perform_web_search':
        return this.failSearch ? 'ERROR SEARCH_FAILED: The search engine did not answer.' : this.search(String(args.query));
      case 'read_web_page':
        return this.page(String(args.url), 0);
      case 'scroll_web_page':
        return this.page(String(args.url), Number(args.page));
      case 'search_web_page': {
        const url = String(args.url);
        const matches = findInText(this.textOf(url), String(args.query), { pageChars: PAGE_CHARS, contextChars: 150, matchesMax: 15 });
        return renderResult({ kind: 'matches', sourceId: 'src_x' as never, url, query: String(args.query), matches });
      }
      case 'read_scratchpad':
        return renderScratchpad({ body: this.body, revision: 1, entries: this.entries });
      case 'append_scratchpad':
        this.entries.push({ sequenceNo: String(this.entries.length), author: worker === null ? 'supervisor' : 'worker', worker, kind: 'finding', text: String(args.note), createdAt: '' });
        return 'Appended.';
      case 'update_scratchpad':
        this.body = String(args.content);
        return 'Updated.';
      case 'delegate_research_task': {
        if (this.failDelegations) return 'ERROR DELEGATION_FAILED: The worker ended without an answer.';
        const ended = await this.work(`Task: ${String(args.task)}\n\nRequirements: ${String(args.requirements)}`);
        this.workers.push(ended);
        return ended.text;
      }
      default:
        throw new Error(`unexpected tool ${name}`);
    }
  }

  private search(query: string): string {
    const names = [...this.documents.keys()];
    const hits = rankPassages(query, names.map((name) => this.documents.get(name) ?? ''))
      .slice(0, 10)
      .map(({ index }, at) => {
        const text = this.documents.get(names[index] ?? '') ?? '';
        return { rank: at + 1, url: documentUrl(names[index] ?? ''), title: titleOf(text), snippet: snippetAt(text, 0, 0, 160) };
      });
    return renderResult({ kind: 'hits', query, provider: 'test', hits });
  }

  private page(url: string, page: number): string {
    const text = this.textOf(url);
    const result = { kind: 'page', sourceId: 'src_x' as never, url, title: titleOf(text), page, pages: pageCount(text, PAGE_CHARS) } as const;
    return renderResult(result, pageSlice(text, PAGE_CHARS, page));
  }

  textOf(url: string): string {
    const text = this.documents.get(documentPath(url));
    if (text === undefined) throw new Error(`the model asked for a page that no search gave: ${url}`);
    return text;
  }
}

function definition(name: string): ModelToolDefinition {
  return { name, description: name, parameters: { type: 'object' } };
}

const titleOf = (text: string): string => /^# (.*)$/m.exec(text)?.[1] ?? 'Untitled';

async function ask(request: ModelRequest, signal = new AbortController().signal): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  await extractiveProvider.create().stream(request, (chunk) => chunks.push(chunk), signal);
  return chunks;
}

function textOf(chunks: readonly ModelChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.text : '')).join('');
}

function toolCallsOf(chunks: readonly ModelChunk[], prefix: string): ModelToolCall[] {
  return chunks.flatMap((chunk) => {
    if (chunk.type !== 'block-end' || chunk.block.type !== 'tool-call') return [];
    const { id, name, arguments: json } = chunk.block;
    return [{ toolCallId: `call_${prefix}-${chunk.index}` as ToolCallId, providerCallId: id, name, arguments: json }];
  });
}

/** Quotes with the pages cited in the same list item. */
function citedIn(report: string): { quote: string; urls: string[] }[] {
  return [...report.matchAll(/^- ["“](.*)["”] (\[.*)$/gm)].map((match) => ({
    quote: match[1] ?? '',
    urls: [...(match[2] ?? '').matchAll(/\]\((\S+?)\)/g)].map((link) => link[1] ?? ''),
  }));
}

const flat = (text: string): string => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\s+/g, ' ');

function expectTrueQuotes(world: World, report: string): void {
  for (const { quote, urls } of citedIn(report)) {
    expect(urls.length).toBeGreaterThan(0);
    for (const url of urls) expect(flat(world.textOf(url))).toContain(quote);
  }
}

let documents: Map<string, string>;

beforeAll(() => {
  const names = readdirSync(FIXTURES).filter((name) => name.endsWith('.md'));
  documents = new Map(names.sort().map((name) => [name, readFileSync(new URL(name, FIXTURES), 'utf8')]));
});

const world = (): World => new World(new Map(documents));

describe('a question about the documents', () => {
  it.each([
    ['When was Skerry Light first lit?', 'first lit on 14 March 1871', 'doc:skerry-light.md'],
    ['Who designed Skerry Light?', 'Marit Holloway', 'doc:skerry-light.md'],
    ['Why was the lamp of Skerry Light changed to electric?', 'because the paraffin store flooded twice', 'doc:skerry-light.md'],
    ['What is the wage of an assistant keeper?', '95 crowns', 'doc:skerry-light.md'],
    ['Who was the last keeper of Skerry Light?', 'Dr. Tobias Fenn', 'doc:skerry-light.md'],
    ['How many inhabitants do the Vant Islands have?', '4,120 inhabitants', 'doc:vant-almanac.md'],
    ['Who founded Orm Station?', 'Ada Brandt', 'doc:orm-station.md'],
    ['How do I read the data of Orm Station?', 'Run the reader', 'doc:orm-station.md'],
    ['How long does the dough of reef bread rest?', 'nine hours', 'doc:bread.md'],
    ['When did the pilot boat Heron sink?', '2 June 1911', 'doc:harbour-log.md'],
  ])('%s', async (question, wanted, url) => {
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

describe('several sources', () => {
  it('keeps them apart and says that their numbers disagree', async () => {
    const place = world();
    const { text } = await place.research('How high is the tower of Skerry Light?');
    const cited = citedIn(text);
    expect(cited.find(({ urls }) => urls[0] === 'doc:skerry-light.md')?.quote).toContain('31 metres');
    expect(cited.find(({ urls }) => urls[0] === 'doc:vant-almanac.md')?.quote).toContain('34 metres');
    expect(text).toMatch(/^Sources disagree: .*31 \[.*34 \[|^Sources disagree: .*34 \[.*31 \[/m);
  });

  it('names every page that holds the same sentence once', async () => {
    const place = world();
    place.documents.set('copy.md', documents.get('bread.md') ?? '');
    const { text } = await place.research('How long does the dough of reef bread rest?');
    const cited = citedIn(text).filter(({ quote }) => quote.includes('nine hours'));
    expect(cited).toHaveLength(1);
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
    expect(text).toContain('SEARCH_FAILED');
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
        const place = new World(new Map([['page.md', `# ${title.join('')}\n\nThe lamp oil burns ${body.join('')}`]]));
        const { text } = await place.research('What does lamp oil burn?');
        expect([...text.matchAll(/\]\(([^)\s]*)\)/g)].every((link) => link[1] === 'doc:page.md')).toBe(true);
        expect(text.split('\n').every((line) => line === '' || /^(?:Extractive|## |- |The documents|Sources disagree)/.test(line))).toBe(true);
      }),
      { numRuns: 60 },
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
