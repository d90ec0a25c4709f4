import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AttemptId, ModelMessage, RunId, SourceId, ToolCallId, ToolResult } from '#contracts';
import { nextCut, type CallRecord, type LoadedRun, type MessageRecord, type Source, type ToolPorts } from '#domain';
import { promptProblem } from '#testing';
import { appendResult, assistantMessage, Conversation, loadConversation, renderForModel, systemPromptOf } from './conversation.ts';

/** What one turn did: prose, or calls with the size of what came back; and whether pages were folded before it. */
interface PlayedTurn {
  calls: { kind: 'page' | 'text' | 'error'; words: number }[];
  foldBefore: boolean;
}

const turnOf = fc.record<PlayedTurn>({
  calls: fc.array(fc.record({ kind: fc.constantFrom('page', 'page', 'text', 'error'), words: fc.integer({ min: 0, max: 400 }) }), { minLength: 1, maxLength: 4 }),
  foldBefore: fc.boolean(),
});
const story = fc.array(turnOf, { maxLength: 10 });

const textOf = (id: string, words: number): string => Array.from({ length: words }, (_, index) => `word${index % 17}`).join(' ') + ` end of ${id}.`;

/** The rows of a run that took these turns. */
function rowsOf(turns: readonly PlayedTurn[]): { loaded: LoadedRun; ports: ToolPorts } {
  const messages: MessageRecord[] = [{ role: 'user', content: 'Where do words end?', reasoning: null, attemptId: null, toolCallId: null, truncated: false } as MessageRecord];
  const calls: CallRecord[] = [];
  const bodies = new Map<string, string>();
  for (const [index, { calls: wanted }] of turns.entries()) {
    const attemptId = `att_${index}` as AttemptId;
    messages.push({ ...messages[0]!, role: 'assistant', content: index % 3 === 0 ? '' : `thought ${index}`, attemptId });
    for (const [callIndex, { kind, words }] of wanted.entries()) {
      const toolCallId = `call_${index}_${callIndex}` as ToolCallId;
      const sourceId = `src_${index}_${callIndex}` as SourceId;
      bodies.set(sourceId, textOf(sourceId, words));
      const results: Record<typeof kind, ToolResult> = {
        page: { kind: 'page', sourceId, url: 'https://a.test/', title: 'A', page: 0, pages: 1 },
        text: { kind: 'text', text: `text ${words}` },
        error: { kind: 'error', code: 'TOOL_FAILED', message: 'no' },
      };
      const given = callIndex === 0 ? '{"query":"word3 end"}' : `{"note":"it says \\"end of ${sourceId}\\""}`;
      calls.push({ toolCallId, attemptId, turn: index + 1, callIndex, providerCallId: null, name: 'tool', arguments: given, effect: 'read', status: 'succeeded', deaths: 0, result: results[kind], reservation: null, closed: true, inherited: false });
      messages.push({ ...messages[0]!, role: 'tool', content: '', toolCallId });
    }
  }
  const folds = turns.flatMap(({ foldBefore }, index) => (foldBefore ? [index + 1] : []));
  const run = { id: 'run_1' as RunId, rootRunId: 'run_1' as RunId, role: 'worker', turn: turns.length, createdAtMs: 0 };
  const loaded = { run, assistant: { instructions: '' }, messages, calls, prompts: { folds, cut: 0, summary: null, counted: null, overflowTokens: null } } as unknown as LoadedRun;
  const sources = { get: (_root: RunId, id: SourceId) => Promise.resolve({ id, text: bodies.get(id) } as Source) };
  return { loaded, ports: { sources, pageChars: 1_000_000 } as unknown as ToolPorts };
}

/** The same run as its own process saw it, turn by turn. */
async function live({ loaded, ports }: ReturnType<typeof rowsOf>, tokensMax: number): Promise<Conversation> {
  const conversation = new Conversation(systemPromptOf(loaded));
  conversation.append({ role: 'user', content: loaded.messages[0]!.content });
  for (const message of loaded.messages.filter(({ role }) => role === 'assistant')) {
    const calls = loaded.calls.filter(({ attemptId }) => attemptId === message.attemptId);
    const turn = calls[0]!.turn;
    if (loaded.prompts.folds.includes(turn) && conversation.canFold) conversation.foldPages();
    conversation.cutAt(nextCut(conversation.cutView(tokensMax)));
    conversation.append(assistantMessage(message, calls));
    for (const call of calls) appendResult(conversation, call, call.result!, await renderForModel(call.result!, loaded, ports), turn);
  }
  return conversation;
}

const request = (messages: ModelMessage[]) => ({ model: 'm', messages, tools: [], maxOutputTokens: 1 });

describe('the conversation of a run', () => {
  it('[Q-11] is accepted by a strict vendor, with every cut and fold, and keeps the question', async () => {
    await fc.assert(
      fc.asyncProperty(story, fc.oneof(fc.constantFrom(-1, 0, 1), fc.integer({ min: -10, max: 6_000 })), fc.option(fc.constant('Two turns are left.')), async (turns, tokensMax, note) => {
        const { loaded, ports } = rowsOf(turns);
        const conversation = await loadConversation(loaded, ports);
        const whole = conversation.prompt(note);
        conversation.cutAt(nextCut(conversation.cutView(tokensMax)));
        const sent = conversation.prompt(note);
        expect(promptProblem(request(sent))).toBeNull();
        expect(sent[1]).toEqual({ role: 'user', content: 'Where do words end?' });
        const places = sent.map((message) => (note !== null && message === sent.at(-1) ? whole.length - 1 : whole.indexOf(message)));
        expect(places).toEqual(places.toSorted((left, right) => left - right));
        expect(places).not.toContain(-1);
      }),
    );
  });

  it('[Q-04] is the same to the byte when another process loads it', async () => {
    await fc.assert(
      fc.asyncProperty(story, fc.integer({ min: 0, max: 6_000 }), async (turns, tokensMax) => {
        const rows = rowsOf(turns);
        const played = await live(rows, tokensMax);
        const loaded = await loadConversation({ ...rows.loaded, prompts: { ...rows.loaded.prompts, cut: played.cut } }, rows.ports);
        expect(JSON.stringify(loaded.prompt(null))).toBe(JSON.stringify(played.prompt(null)));
        expect([loaded.tokens, loaded.rawPageChars]).toEqual([played.tokens, played.rawPageChars]);
      }),
    );
  });

  it('counts the tokens and characters of what it holds, whatever was folded', async () => {
    await fc.assert(
      fc.asyncProperty(story, async (turns) => {
        const conversation = await loadConversation(rowsOf(turns).loaded, rowsOf(turns).ports);
        if (conversation.canFold) conversation.foldPages();
        expect(conversation.canFold).toBe(false);
        const again = new Conversation('');
        const before = again.tokens;
        for (const message of conversation.prompt(null)) again.append(message);
        expect(again.tokens - before).toBe(conversation.tokens);
      }),
    );
  });
});
