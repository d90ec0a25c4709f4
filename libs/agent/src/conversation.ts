import type { ModelMessage, ModelToolDefinition, ToolCallId, ToolResult } from '#contracts';
import {
  correlateTools,
  cutPosition,
  estimateTokens,
  foldInterest,
  foldPage,
  historyFrom,
  pageSlice,
  renderResult,
  summaryNote,
  systemPrompt,
  type CallRecord,
  type CutView,
  type FoldInterest,
  type LoadedRun,
  type MessageRecord,
  type Source,
  type ToolPorts,
} from '#domain';

type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;

/** Envelope of a message on the wire, in tokens; a stated estimate, corrected by the provider's own usage. */
const MESSAGE_OVERHEAD_TOKENS = 8;

/** A page that is shown whole: the turn that asked for it, and its place in the history. */
interface RawPage {
  turn: number;
  position: number;
}

/**
 * A run's history in memory, as its model sees it. Built from rows once per claim and appended to after each commit, so that a turn reads
 * nothing back. Tokens of each message are counted once. Pages are folded, and
 * old groups left out, in blocks: in between a prompt only grows at its end.
 */
export class Conversation {
  readonly #messages: ModelMessage[];
  readonly #tokens = new WeakMap<ModelMessage, number>();
  #sentTokens = 0;
  #cut = 0;
  #summary: ModelMessage | null = null;
  #summaryText: string | null = null;
  #rawPages: RawPage[] = [];
  #rawPageChars = 0;

  constructor(system: string) {
    this.#messages = [];
    this.append({ role: 'system', content: system });
  }

  append(message: ModelMessage): void {
    this.#messages.push(message);
    this.#sentTokens += this.#tokensOf(message);
  }

  /** Appends a page that the calls of this turn have opened. */
  appendPage(message: ModelMessage, turn: number): void {
    this.#rawPages.push({ turn, position: this.#messages.length });
    this.#rawPageChars += message.content.length;
    this.append(message);
  }

  /** Characters of pages that are shown whole. */
  get rawPageChars(): number {
    return this.#rawPageChars;
  }

  /** Estimated tokens of what is sent of the history, without tools and notes. */
  get tokens(): number {
    return this.#sentTokens;
  }

  /** Position of the first message that is not left out; 0 when all are sent. */
  get cut(): number {
    return this.#cut;
  }

  /** True when there are whole pages of an older turn than the newest that has any. */
  get canFold(): boolean {
    return this.#rawPages[0]?.turn !== this.#rawPages.at(-1)?.turn;
  }

  /** Folds every whole page but those of the newest turn that has any; their place, their calls and everything before them stay. */
  foldPages(): void {
    const newest = this.#rawPages.at(-1)?.turn;
    const interest = foldInterest(this.#messages);
    for (const { turn, position } of this.#rawPages) if (turn !== newest) this.#fold(position, interest);
    this.#rawPages = this.#rawPages.filter(({ turn }) => turn === newest);
    this.#countSent();
  }

  #fold(position: number, interest: FoldInterest): void {
    const message = this.#messages[position];
    if (message?.role !== 'tool') return;
    const folded = { ...message, content: foldPage(message.content, interest) };
    this.#messages[position] = folded;
    this.#rawPageChars -= message.content.length;
  }

  /** The history as a cut of a prompt with so many tokens sees it. */
  cutView(tokensMax: number): CutView {
    const summaryTokens = this.#summary === null ? 0 : this.#tokensOf(this.#summary);
    return { messages: this.#messages, cut: this.#cut, tokens: this.#sentTokens - summaryTokens, tokensMax: tokensMax - summaryTokens, estimateTokens: (message) => this.#tokensOf(message) };
  }

  /** Leaves out whatever stands before this position, but the question and what else a prompt cannot do without. Gives what is left out by it anew. */
  cutAt(position: number): ModelMessage[] {
    if (position === this.#cut) return [];
    const before = historyFrom(this.#messages, this.#cut);
    this.#cut = position;
    this.#countSent();
    const kept = new Set(historyFrom(this.#messages, position));
    return before.filter((message) => !kept.has(message));
  }

  /** What stands in the place of the groups that are left out; null when nothing does. */
  get summary(): string | null {
    return this.#summaryText;
  }

  /** From now on this text stands in the place of the groups that are left out. */
  summarise(text: string): void {
    this.#summaryText = text;
    this.#summary = { role: 'user', content: summaryNote(text) };
    this.#countSent();
  }

  /** The question as it was asked last. */
  get question(): string {
    return this.#messages.findLast(({ role }) => role === 'user')?.content ?? '';
  }

  #sent(): ModelMessage[] {
    const sent = historyFrom(this.#messages, this.#cut);
    if (this.#summary === null) return sent;
    const tail = new Set(this.#messages.slice(this.#cut));
    const at = sent.findIndex((message) => tail.has(message));
    return sent.toSpliced(at < 0 ? sent.length : at, 0, this.#summary);
  }

  #countSent(): void {
    this.#sentTokens = this.#sent().reduce((sum, message) => sum + this.#tokensOf(message), 0);
  }

  get lastAssistant(): AssistantMessage | undefined {
    return this.#messages.findLast((message) => message.role === 'assistant');
  }

  /** True when the newest message is an answer without tool calls. */
  get endsWithAnswer(): boolean {
    const last = this.#messages.at(-1);
    return last?.role === 'assistant' && (last.toolCalls?.length ?? 0) === 0;
  }

  /** Whether a prompt within this budget is shorter than the one that is sent now. */
  canShrink(tokensMax: number): boolean {
    return this.canFold || (this.#sentTokens > tokensMax && cutPosition(this.#messages, { ...this.cutView(tokensMax), budgetTokens: this.cutView(tokensMax).tokensMax }) > this.#cut);
  }

  /** What is sent: whole groups from the cut on, plus a note that is not kept. Throws `JOURNAL_INVALID` before a broken prompt leaves. */
  prompt(note: string | null): ModelMessage[] {
    const kept = this.#sent();
    if (note !== null) kept.push({ role: 'user', content: note });
    correlateTools(kept);
    return kept;
  }

  /** The prompt of a finishing call: the role, the question and a note that holds everything else, so that its cost is bounded. */
  finishingPrompt(note: string): ModelMessage[] {
    const [system, question] = this.#messages;
    return [...(system ? [system] : []), ...(question ? [question] : []), { role: 'user', content: note }];
  }

  /** Estimated tokens of the prompt with these texts still to come, for which more may have to be left out. */
  promptTokens(tokensMax: number, tools: readonly ModelToolDefinition[], coming: readonly string[] = []): number {
    const extra = coming.reduce((sum, text) => sum + estimateTokens(text) + MESSAGE_OVERHEAD_TOKENS, 0);
    return Math.max(this.#sentTokens, Math.min(this.#sentTokens + extra, tokensMax)) + toolTokens(tools);
  }

  #tokensOf(message: ModelMessage): number {
    const known = this.#tokens.get(message);
    if (known !== undefined) return known;
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []).reduce((sum, call) => sum + estimateTokens(call.name + call.arguments), 0) : 0;
    const reasoning = message.role === 'assistant' && message.reasoning ? estimateTokens(message.reasoning.text) : 0;
    const tokens = estimateTokens(message.content) + calls + reasoning + MESSAGE_OVERHEAD_TOKENS;
    this.#tokens.set(message, tokens);
    return tokens;
  }
}

/** The system prompt of a run: the same text at every claim, so that a prompt cache keeps its prefix. */
export const systemPromptOf = ({ run, assistant }: Pick<LoadedRun, 'run' | 'assistant'>): string =>
  systemPrompt({ role: run.role, instructions: assistant.instructions, startedAtMs: run.createdAtMs });

const definitionTokens = new WeakMap<ModelToolDefinition, number>();

const toolTokens = (tools: readonly ModelToolDefinition[]): number =>
  tools.reduce((sum, tool) => {
    let tokens = definitionTokens.get(tool);
    if (tokens === undefined) definitionTokens.set(tool, (tokens = estimateTokens(JSON.stringify(tool))));
    return sum + tokens;
  }, 0);

/** History of a claimed run from its rows, in `sequence_no` order; results are rendered, pages folded and old groups left out as they were the first time. */
export async function loadConversation(loaded: LoadedRun, ports: ToolPorts): Promise<Conversation> {
  const conversation = new Conversation(systemPromptOf(loaded));
  const byAttempt = Map.groupBy(loaded.calls, (call) => call.attemptId);
  const byId = new Map(loaded.calls.map((call) => [call.toolCallId, call]));
  const folds = new Set(loaded.prompts.folds);
  let turn = loaded.run.turn - loaded.messages.filter(({ role }) => role === 'assistant').length;
  for (const message of loaded.messages) {
    if (message.role === 'user') conversation.append({ role: 'user', content: message.content });
    else if (message.role === 'assistant') {
      if (folds.has(++turn)) conversation.foldPages();
      const calls = (message.attemptId && byAttempt.get(message.attemptId)) || [];
      // a stopped run that answered with calls alone, which were not carried out, has said nothing; vendors refuse an empty message
      if (message.content !== '' || calls.length > 0) conversation.append(assistantMessage(message, calls));
    } else {
      const call = message.toolCallId ? byId.get(message.toolCallId) : undefined;
      if (call?.result) appendResult(conversation, call, call.result, await renderForModel(call.result, loaded, ports), turn);
    }
  }
  if (folds.has(turn + 1)) conversation.foldPages();
  conversation.cutAt(loaded.prompts.cut);
  if (loaded.prompts.summary !== null) conversation.summarise(loaded.prompts.summary);
  return conversation;
}

/** Appends what a call of this turn came to. */
export function appendResult(conversation: Conversation, call: Parameters<typeof toolMessage>[0], result: ToolResult, text: string, turn: number): void {
  const message = toolMessage(call, result, text);
  if (result.kind === 'page') conversation.appendPage(message, turn);
  else conversation.append(message);
}

/** The answer that was cut at the length limit and has no continuation yet, or an empty text. */
export function cutAnswerOf({ messages }: LoadedRun): string {
  const newest = messages.at(-1);
  return newest?.truncated ? newest.content : '';
}

export function assistantMessage(
  { content, reasoning, vendor, replay }: Pick<MessageRecord, 'content' | 'reasoning' | 'vendor' | 'replay'>,
  calls: readonly Pick<CallRecord, 'toolCallId' | 'providerCallId' | 'name' | 'arguments'>[],
): AssistantMessage {
  return {
    role: 'assistant',
    content,
    ...(reasoning ? { reasoning } : {}),
    ...(vendor === null ? {} : { vendor }),
    ...(replay === undefined ? {} : { replay }),
    ...(calls.length > 0
      ? { toolCalls: calls.map((call) => ({ toolCallId: call.toolCallId, providerCallId: call.providerCallId, name: call.name, arguments: call.arguments })) }
      : {}),
  };
}

const toolMessage = (
  call: { toolCallId: ToolCallId; providerCallId: string | null; name: string },
  result: ToolResult,
  content: string,
): ModelMessage => ({
  role: 'tool',
  toolCallId: call.toolCallId,
  providerCallId: call.providerCallId,
  name: call.name,
  content,
  isError: result.kind === 'error',
});

/** The text a model reads; a page needs the stored body, which `fresh` may hold already. */
export async function renderForModel(result: ToolResult, owner: { run: { rootRunId: LoadedRun['run']['rootRunId'] } }, ports: ToolPorts, fresh?: Pick<Source, 'text'>): Promise<string> {
  if (result.kind !== 'page') return renderResult(result);
  const source = fresh ?? (await ports.sources.get(owner.run.rootRunId, result.sourceId));
  return renderResult(result, source ? pageSlice(source.text, ports.pageChars, result.page) : undefined);
}
