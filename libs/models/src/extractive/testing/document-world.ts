import { createHash } from 'node:crypto';
import type { ModelChunk, ModelMessage, ModelToolCall, ModelToolDefinition, ToolCallId } from '#contracts';
import { delegationPrompt, documentPath, documentUrl, findInText, foldInterest, foldPage, pageCount, pageSlice, rankPassages, renderResult, renderScratchpad, snippetAt, type ModelRequest, type ScratchpadEntry } from '#domain';
import { extractiveProvider } from '../../providers/extractive.ts';

const PAGE_CHARS = 4_000;
export const WORKER_TOOLS = ['perform_web_search', 'read_web_page', 'search_web_page', 'scroll_web_page', 'read_scratchpad', 'append_scratchpad'];
export const SUPERVISOR_TOOLS = ['delegate_research_task', 'read_scratchpad', 'append_scratchpad', 'update_scratchpad'];

export interface Called {
  name: string;
  arguments: Record<string, string | number>;
}

export interface Ended {
  text: string;
  turns: number;
  calls: Called[];
  bytes: string;
}

/** The engine's tools over a map of documents, with the engine's own rendering. */
export class DocumentWorld {
  readonly entries: ScratchpadEntry[] = [];
  readonly workers: Ended[] = [];
  body = '';
  failSearch = false;
  failDelegations = false;
  /** Whether pages are folded as soon as those of a newer turn are there. */
  foldsPages = false;
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
      if (this.foldsPages) foldOlderPages(messages);
      const chunks = await ask({ model: 'extractive', messages, tools: turn === turnsMax ? [] : tools.map(definition), maxOutputTokens: 4_096 });
      hash.update(JSON.stringify(chunks));
      const asked = toolCallsOf(chunks, `${worker ?? 0}-${turn}`);
      messages.push({ role: 'assistant', content: textOf(chunks), ...(asked.length > 0 ? { toolCalls: asked } : {}) });
      if (asked.length === 0) return { text: textOf(chunks), turns: turn, calls, bytes: hash.digest('hex') };
      for (const call of asked) {
        const args = JSON.parse(call.arguments) as Called['arguments'];
        if (!tools.includes(call.name)) throw new Error(`the model called ${call.name}, which was not offered`);
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
        const ended = await this.work(delegationPrompt({ task: String(args.task), requirements: String(args.requirements) }));
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

/** What the engine does above its limit: here every page but those of the newest turn, at once. */
function foldOlderPages(messages: ModelMessage[]): void {
  const newest = messages.findLastIndex(({ role }) => role === 'assistant');
  for (const [index, message] of messages.slice(0, Math.max(0, newest)).entries()) {
    if (message.role === 'tool' && !message.content.includes('\nFolded: ')) messages[index] = { ...message, content: foldPage(message.content, foldInterest(messages)) };
  }
}

export function definition(name: string): ModelToolDefinition {
  return { name, description: name, parameters: { type: 'object' } };
}

const titleOf = (text: string): string => /^# (.*)$/m.exec(text)?.[1] ?? 'Untitled';

export async function ask(request: ModelRequest, signal = new AbortController().signal): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  await extractiveProvider.create().stream(request, (chunk) => chunks.push(chunk), signal);
  return chunks;
}

export function textOf(chunks: readonly ModelChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.text : '')).join('');
}

export function toolCallsOf(chunks: readonly ModelChunk[], prefix: string): ModelToolCall[] {
  return chunks.flatMap((chunk) => {
    if (chunk.type !== 'block-end' || chunk.block.type !== 'tool-call') return [];
    const { id, name, arguments: json } = chunk.block;
    return [{ toolCallId: `call_${prefix}-${chunk.index}` as ToolCallId, providerCallId: id, name, arguments: json }];
  });
}
