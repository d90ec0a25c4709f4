import { describe, expect, it } from 'vitest';
import { parseSessionHeader } from './session-header.ts';
import type { SessionEvent } from './session-types.ts';
import { SessionVerifier } from './session-verifier.ts';

type Row = Pick<SessionEvent, 'type' | 'data'> & Partial<SessionEvent>;

const HEADER = { type: 'session', version: 2, id: 's', createdAt: 0, isSeeded: false, delegationDepth: 0 };
const place = { turn: 0, step: 0 };
const open: Row[] = [{ type: 'turn/start', data: { turn: 0 } }, { type: 'step/start', data: place }];
const stepEnd: Row = { type: 'step/end', data: place };
const turnEnd = (kind = 'completed'): Row => ({ type: 'turn/end', data: { turn: 0, reason: { kind } } });

function verify(rows: Row[], header: object = {}): void {
  const verifier = new SessionVerifier(parseSessionHeader({ ...HEADER, ...header }));
  for (const [seq, row] of rows.entries()) verifier.push({ time: seq, ...row, seq });
  verifier.finish();
}

const asks = (...ids: string[]): Row => ({ type: 'assistant/message', surfaceOp: 'append', data: { ...place, stream: [], message: { role: 'assistant', content: ids.map((id) => ({ type: 'tool-call', id, name: 'search', arguments: '{}' })) } } });
const starts = (callId: string, name = 'search'): Row => ({ type: 'tool/call', data: { ...place, callId, name, arguments: '{}' } });
const result = (callId: string, more: object = {}): Row => ({ type: 'tool/result', surfaceOp: 'append', data: { ...place, message: { role: 'tool', source: { kind: 'tool', callId }, content: [] }, ...more } });
const dispatch = (subCallId: string, parentCallId = 'a', end = false): Row => ({ type: end ? 'tool/code-dispatch' : 'tool/code-dispatch-start', data: { rootCallId: 'a', parentCallId, subCallId, name: 'n', arguments: {}, ...(end ? { isError: false, content: [] } : {}) } });

describe('tool calls of an artifact', () => {
  it.each<[string, Row[]]>([
    ['are asked for, started and answered', [...open, asks('a', 'b'), starts('a'), starts('b'), result('b'), result('a'), stepEnd, turnEnd()]],
    ['may say that they never started', [...open, asks('a'), result('a', { error: { name: 'ToolNotStartedError', code: 'TOOL_NOT_STARTED' } }), stepEnd, turnEnd()]],
    ['may be left behind by a turn that was broken off', [...open, asks('a'), starts('a'), stepEnd, turnEnd('interrupted')]],
    ['may be left behind at the end of the file', [...open, asks('a'), starts('a')]],
    ['dispatch others', [...open, asks('a'), starts('a'), dispatch('b'), dispatch('c', 'b'), dispatch('c', 'b', true), dispatch('b', 'a', true), result('a'), stepEnd, turnEnd()]],
  ])('%s', (_what, rows) => expect(() => verify(rows)).not.toThrow());

  it.each<[string, Row[], string]>([
    ['asked for twice', [...open, asks('a', 'a')], 'Row 4 of the artifact asks twice for the tool call "a".'],
    ['never asked for', [...open, starts('a')], 'starts a tool call "a" that no answer of its step asked for in these words'],
    ['of another name', [...open, asks('a'), starts('a', 'read')], 'starts a tool call "a" that no answer of its step asked for in these words'],
    ['started twice', [...open, asks('a'), starts('a'), starts('a')], 'Row 6 of the artifact starts a tool call "a"'],
    ['with a result nobody waits for', [...open, result('a')], 'is the result of a tool call "a" that nobody waits for'],
    ['with two results', [...open, asks('a'), starts('a'), result('a'), result('a')], 'Row 7 of the artifact is the result of a tool call "a" that nobody waits for'],
    ['with a result before its start', [...open, asks('a'), result('a')], 'is the result of the tool call "a", which never started'],
    ['without a result in a finished turn', [...open, asks('a'), starts('a'), stepEnd, turnEnd()], '(turn/end) comes after a step that left the tool call "a" without a result'],
    ['without a result before the next step', [...open, asks('a'), starts('a'), stepEnd, { type: 'step/start', data: { turn: 0, step: 1 } }], '(step/start) comes after a step that left the tool call "a" without a result'],
    ['dispatched twice', [...open, dispatch('b'), dispatch('b')], 'dispatches "b" a second time'],
    ['dispatched by a stranger', [...open, dispatch('b', 'x')], 'is dispatched by "x", which is not part of "a"'],
    ['settled without a dispatch', [...open, dispatch('b', 'a', true)], 'settles "b", which was not dispatched like that'],
    ['settled twice', [...open, dispatch('b'), dispatch('b', 'a', true), dispatch('b', 'a', true)], 'settles "b", which was not dispatched like that, or is settled already'],
  ])('are refused when %s', (_what, rows, sentence) => expect(() => verify(rows)).toThrow(sentence));
});

const retry = (number: number, retryId = 'r', more: object = {}): Row => ({ type: 'llm/retry', data: { retryId, ...place, provider: 'p', mode: 'm', policyKey: 'k', retry: number, delayMs: 1, failure: {}, ...more } });
const retried = (number: number, retryId = 'r', more: object = {}): Row => ({ type: 'llm/retry-started', data: { retryId, ...place, retry: number, ...more } });

describe('retries of an artifact', () => {
  it('count from 1 in each chain', () => expect(() => verify([...open, retry(1), retried(1), retry(2), retried(2), retry(1, 'other', { policyKey: 'l' }), stepEnd, turnEnd()])).not.toThrow());

  it.each<[string, Row[], string]>([
    ['leave one out', [...open, retry(1), retry(3)], '(llm/retry) is retry 3 where 2 must stand'],
    ['begin with the second', [...open, retry(2)], '(llm/retry) is retry 2 where 1 must stand'],
    ['change their id', [...open, retry(1), retry(2, 's')], '(llm/retry) changes the retryId of its chain'],
    ['take the id of another chain', [...open, retry(1), retry(1, 'r', { policyKey: 'l' })], '(llm/retry) takes the retryId "r" of another chain'],
    ['name another provider than the request', [...open, { type: 'request/header', data: { header: { config: { provider: 'q' } }, reason: 'new' } }, retry(1)], '(llm/retry) names the provider "p", but the request went to another'],
    ['start unscheduled', [...open, retried(1)], '(llm/retry-started) starts a retry that was not scheduled'],
    ['start twice', [...open, retry(1), retried(1), retried(1)], '(llm/retry-started) starts a retry that was not scheduled, or that started before'],
    ['start in another step', [...open, retry(1), retried(1, 'r', { step: 1 })], '(llm/retry-started) starts a retry of another step'],
    ['stand outside a step', [open[0]!, retry(1)], '(llm/retry) belongs to step 0 of turn 0, which is not open'],
  ])('are refused when they %s', (_what, rows, sentence) => expect(() => verify(rows)).toThrow(sentence));
});

const user = (more: Partial<Row> = {}): Row => ({ type: 'user/message', surfaceOp: 'append', ...more, data: { role: 'user', id: 'u', content: [], source: { kind: 'user' }, ...more.data } });
const begins = (compactionId = 'c', turn: number | null = null): Row => ({ type: 'compaction/start', data: { compactionId, turn } });
const shadow = (start: number, end: number, seqs: number[]): object => ({ shadowedRange: { start, end }, shadowedSeqs: seqs, shadowedTokenCount: 1 });
const summary = (compactionId = 'c', shadowed: object = shadow(0, 1, [0, 1])): Row => ({ type: 'compaction/summary', data: { compactionId, summary: [], provider: 'p', model: 'm', ...shadowed } });
const ends = (more: object = {}): Row => ({ type: 'compaction/end', data: { compactionId: 'c', turn: null, ...more } });
const checkpoint = (sourceEventSeqs: number[], compactionId = 'c'): Row => user({ surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs, data: { source: { kind: 'plugin', plugin: 'compact', compactionId } } });

describe('compactions of an artifact', () => {
  it.each<[string, Row[], object?]>([
    ['have a summary and a checkpoint', [user(), user(), begins(), summary(), checkpoint([0, 1]), ends()]],
    ['may fail without a summary', [begins(), ends({ error: {} })]],
    ['may stand within a turn', [open[0]!, begins('c', 0), ends({ turn: 0, error: {} }), turnEnd()]],
    ['may be inherited unfinished', [open[0]!, begins('c', 0), turnEnd(), { type: 'session/end-seed', data: { inherited: true } }], { isSeeded: true }],
    ['may prune', [user(), user(), { type: 'compaction/prune', data: shadow(0, 0, [0]) as Row['data'] }]],
  ])('%s', (_what, rows, header) => expect(() => verify(rows, header)).not.toThrow());

  it.each<[string, Row[], string]>([
    ['overlap', [begins(), begins('d')], '(compaction/start) begins before the compaction before it has ended'],
    ['name a turn that is not open', [begins('c', 0)], '(compaction/start) belongs to a turn that is not the open one'],
    ['say nothing of their turn', [{ type: 'compaction/start', data: { compactionId: 'c' } }], '(compaction/start) has no turn'],
    ['go on beyond their turn', [begins(), open[0]!, turnEnd()], 'Row 3 of the artifact begins or ends a turn in the middle of a compaction.'],
    ['have a summary of another', [user(), user(), begins(), summary('d')], '(compaction/summary) belongs to a compaction that is not open'],
    ['have two summaries', [user(), user(), begins(), summary(), summary()], '(compaction/summary) is the second one of its compaction'],
    ['shadow half of what they name', [user(), user(), begins(), summary('c', shadow(0, 1, [0]))], '(compaction/summary) shadows events that are no whole piece of the surface'],
    ['end unopened', [ends()], '(compaction/end) belongs to a compaction that is not open'],
    ['end in another turn', [begins(), ends({ turn: 1, error: {} })], '(compaction/end) names another turn than its start'],
    ['end with neither summary nor error', [begins(), ends()], '(compaction/end) ends a compaction that has neither a summary nor an error'],
    ['are checkpointed unopened', [user(), user(), checkpoint([0, 1])], '(user/message) belongs to a compaction that is not open'],
    ['replace what they do not name', [user(), user(), begins(), checkpoint([0])], '(user/message) replaces an event that its sourceEventSeqs do not name'],
    ['replace what is gone', [user(), user(), begins(), checkpoint([0, 1]), checkpoint([0, 1])], '(user/message) replaces events that do not stand on the surface in that order'],
    ['prune what is gone', [user(), { type: 'compaction/prune', data: shadow(1, 1, [1]) as Row['data'] }], '(compaction/prune) shadows events that are no whole piece of the surface'],
  ])('are refused when they %s', (_what, rows, sentence) => expect(() => verify(rows)).toThrow(sentence));
});
