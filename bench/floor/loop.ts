import { PAGE_CHARS_DEFAULT } from '#contracts';
import { chat, getText, type FloorMessage } from './chat.ts';

export interface FloorPrompts {
  supervisor: { instructions: string; tools: object[] };
  worker: { instructions: string; tools: object[] };
}

const TURNS_MAX = 40;

type Execute = (name: string, args: Record<string, string>) => Promise<string> | string;

/** The same job with nothing kept: plain loops in one process, workers as promises, the scratchpad an array. */
export class FloorRun {
  readonly #notes: string[] = [];
  readonly #webUrl: URL;
  readonly #prompts: FloorPrompts;

  constructor(webUrl: URL, prompts: FloorPrompts) {
    this.#webUrl = webUrl;
    this.#prompts = prompts;
  }

  research(question: string, onText: (text: string) => void): Promise<string> {
    const { instructions, tools } = this.#prompts.supervisor;
    return this.#loop(instructions, question, tools, (name, args) => (name === 'delegate_research_task' ? this.#work(args['task'] ?? '') : this.#useScratchpad(name, args)), onText);
  }

  #work(task: string): Promise<string> {
    const { instructions, tools } = this.#prompts.worker;
    return this.#loop(instructions, task, tools, (name, args) => {
      if (name === 'perform_web_search') return this.#search(args['query'] ?? '');
      if (name === 'read_web_page') return this.#read(args['url'] ?? '');
      return this.#useScratchpad(name, args);
    });
  }

  async #loop(instructions: string, question: string, tools: object[], execute: Execute, onText?: (text: string) => void): Promise<string> {
    const messages: FloorMessage[] = [
      { role: 'system', content: instructions },
      { role: 'user', content: question },
    ];
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const answer = await chat(this.#webUrl, messages, tools, onText);
      messages.push(answer);
      if (answer.tool_calls === undefined) return answer.content;
      const results = answer.tool_calls.map(async (call) => ({
        role: 'tool' as const,
        tool_call_id: call.id,
        content: await execute(call.function.name, JSON.parse(call.function.arguments) as Record<string, string>),
      }));
      messages.push(...(await Promise.all(results)));
    }
    throw new Error('the run took too many turns');
  }

  #useScratchpad(name: string, args: Record<string, string>): string {
    if (name === 'read_scratchpad') return this.#notes.join('\n\n');
    this.#notes.push(args['note'] ?? args['content'] ?? '');
    return 'Noted.';
  }

  async #search(query: string): Promise<string> {
    const answer = JSON.parse(await getText(`${this.#webUrl.origin}/search?q=${encodeURIComponent(query)}&format=json`)) as { results: { title: string; url: string; content: string }[] };
    return answer.results.map((hit, index) => `[${index + 1}] ${hit.title}\nURL: ${hit.url}\n${hit.content}`).join('\n\n');
  }

  async #read(url: string): Promise<string> {
    return plainText(await getText(url)).slice(0, PAGE_CHARS_DEFAULT);
  }
}

/** Text of a page by four replacements: what a bare loop would do, not what a reader should. */
const plainText = (html: string): string =>
  html
    .replace(/<(script|style|nav|aside|footer)[\s\S]*?<\/\1>/g, ' ')
    .replace(/<\/(p|h\d|li|section)>/g, '\n')
    .replace(/<[^>]+>/g, '')
    .replace(/[ \t]+/g, ' ');
