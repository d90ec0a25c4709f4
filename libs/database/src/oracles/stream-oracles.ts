import { streamProblem, type StoredAnswer } from '#domain';
import { decompressText } from '../compress.ts';
import { readCall, readMessage } from '../journal/claim.ts';
import { rowsOf, type Row, type Sql } from '../sql.ts';
import type { EvidenceOracle, Finding } from './evidence-oracles.ts';

/** Attempts read at once; most streams are some kilobytes, and none is more than 16 MB. */
const BATCH = 50;
const NAME_CHARS_MAX = 256;

export const STREAM_ORACLES: EvidenceOracle[] = [{ invariant: 'Q-06', title: 'every stored answer, its calls and its usage are what its stream gives', find: checkStreams }];

async function checkStreams(sql: Sql): Promise<Finding> {
  const violations: string[] = [];
  let rows = 0;
  for (let after = ''; ; ) {
    const attempts = await sql.rows(
      `SELECT a.id, a.stream, a.finishing, a.input_tokens, a.output_tokens, a.usage_estimated, m.role, m.content, m.reasoning, m.reasoning_field, m.vendor, m.replay, m.attempt_id, m.tool_call_id
        FROM attempts a LEFT JOIN messages m ON m.attempt_id = a.id WHERE a.id > ? AND a.stream IS NOT NULL ORDER BY a.id LIMIT ?`,
      [after, BATCH],
    );
    violations.push(...(await problemsOf(sql, attempts)));
    rows += attempts.length;
    if (attempts.length < BATCH) return { rows, violations };
    after = attempts.at(-1)?.['id'] as string;
  }
}

async function problemsOf(sql: Sql, attempts: readonly Row[]): Promise<string[]> {
  if (attempts.length === 0) return [];
  const calls = rowsOf(await sql.batch([{ sql: 'SELECT * FROM tool_calls WHERE attempt_id IN (?) ORDER BY attempt_id, call_index', values: [attempts.map((row) => row['id'] as string)] }]), 0);
  const byAttempt = Map.groupBy(calls, (row) => row['attempt_id'] as string);
  const problems: string[] = [];
  for (const attempt of attempts) {
    const problem = await problemOf(attempt, byAttempt.get(attempt['id'] as string) ?? []);
    if (problem !== null) problems.push(`${attempt['id']} ${problem}`);
  }
  return problems;
}

async function problemOf(attempt: Row, callRows: readonly Row[]): Promise<string | null> {
  let records: unknown;
  try {
    records = JSON.parse(await decompressText(attempt['stream'] as Buffer, 'the stream'));
  } catch {
    return 'has a stream that cannot be read';
  }
  if (!Array.isArray(records)) return 'has a stream that is not a list';
  return streamProblem(storedAnswer(attempt, callRows), records, NAME_CHARS_MAX);
}

function storedAnswer(row: Row, callRows: readonly Row[]): StoredAnswer {
  const message = row['role'] === null ? null : readMessage(row);
  return {
    message: message && { content: message.content, reasoning: message.reasoning, replay: message.replay },
    calls: Number(row['finishing']) === 1 ? null : callRows.map((call) => readCall({ ...call, result: null, reservation_id: null, closed: 0 } as Row)),
    usage: { inputTokens: Number(row['input_tokens']), outputTokens: Number(row['output_tokens']), estimated: Number(row['usage_estimated']) === 1 },
  };
}
