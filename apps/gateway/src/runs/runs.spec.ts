import { QUESTION_CHARS_MAX, runJobId, RunView, type RunId } from '#contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FOREIGN_KEY, startTestGateway, type TestGateway } from '../spec-support/test-gateway.ts';

let test: TestGateway;
beforeAll(async () => {
  test = await startTestGateway();
});
afterAll(() => test.stop());

const post = (body: unknown, headers: Record<string, string> = {}) => test.request('POST', '/v1/runs', { body, headers });
const countRows = async (table: string, column: string, value: string): Promise<number> =>
  Number((await test.sql.rows(`SELECT COUNT(*) AS n FROM ${table} WHERE ${column} = ?`, [value]))[0]?.['n']);

describe('accepting a run', () => {
  it('[Q-25] makes everything a run needs in one commit, and answers 202 with it', async () => {
    const response = await post({ question: 'Why?', budget_credits: 2.5, deadline_seconds: 60, source_cap: 3, workers: 2 });
    expect(response.status).toBe(202);
    const run = RunView.parse(await response.json());
    expect(run).toMatchObject({ status: 'queued', question: 'Why?', stop_reason: null, report: null, model: 'extractive', budget: { limit: 2.5, left: 2.5, spent: 0 } });
    expect(Date.parse(run.deadline_at) - Date.parse(run.created_at)).toBe(60_000);
    const row = (await test.sql.rows('SELECT * FROM runs WHERE id = ?', [run.id]))[0];
    expect(row).toMatchObject({ root_run_id: run.id, role: 'supervisor', status: 'queued', source_cap: 3, workers_max: 2, event_seq: 1, wake_number: 0, turns_max: 12 });
    expect(row?.['active_thread_id']).toBe(row?.['thread_id']);
    const thread = row?.['thread_id'] as string;
    expect(await countRows('scratchpads', 'thread_id', thread)).toBe(1);
    expect((await test.sql.rows('SELECT role, content FROM messages WHERE thread_id = ?', [thread]))[0]).toMatchObject({ role: 'user', content: 'Why?' });
    expect((await test.sql.rows('SELECT seq, type, body FROM run_events WHERE root_run_id = ?', [run.id]))[0]).toMatchObject({
      seq: 1,
      type: 'run_status',
      body: JSON.stringify({ type: 'run_status', status: 'queued' }),
    });
  });

  it('sends the job and forgets its outbox row', async () => {
    const runId = await test.createRun();
    await expect.poll(() => countRows('outbox', 'job_id', runJobId(runId, 0))).toBe(0);
  });

  it('[Q-25] answers 64 parallel posts with one key with one run', async () => {
    const responses = await Promise.all(Array.from({ length: 64 }, () => post({ question: 'Once?' }, { 'idempotency-key': 'race-1' })));
    expect(responses.map((response) => response.status)).toEqual(Array(64).fill(202));
    const ids = new Set(await Promise.all(responses.map(async (response) => ((await response.json()) as { id: string }).id)));
    expect(ids.size).toBe(1);
    expect(Number((await test.sql.rows('SELECT COUNT(*) AS n FROM runs WHERE question = ?', ['Once?']))[0]?.['n'])).toBe(1);
  });

  it('[Q-25] refuses a key that stands for another body, and keeps the keys of tenants apart', async () => {
    const headers = { 'idempotency-key': 'reused' };
    expect((await post({ question: 'First' }, headers)).status).toBe(202);
    const other = await post({ question: 'Second' }, headers);
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ error: { code: 'IDEMPOTENCY_KEY_REUSED', param: 'Idempotency-Key' } });
    expect((await test.request('POST', '/v1/runs', { body: { question: 'Second' }, headers, key: FOREIGN_KEY })).status).toBe(202);
    expect((await post({ question: 'x' }, { 'idempotency-key': 'k'.repeat(256) })).status).toBe(400);
  });

  it('makes two runs of two posts without a key', async () => {
    expect(await test.createRun('Twice')).not.toBe(await test.createRun('Twice'));
  });

  it('keeps a question as it was written, without what cannot be seen', async () => {
    const runId = await test.createRun(' Größe von 🧪?\n\u0000\u001b[31m\u202e  Zeile\ttwo ');
    expect(RunView.parse(await (await test.request('GET', `/v1/runs/${runId}`)).json()).question).toBe(' Größe von 🧪?\n[31m  Zeile\ttwo ');
  });

  it.each([
    ['no body', undefined, 400, 'INVALID_REQUEST'],
    ['an empty question', { question: ' \u0000\u200b\n ' }, 400, 'QUESTION_EMPTY'],
    ['a question that is too long', { question: 'a'.repeat(QUESTION_CHARS_MAX + 1) }, 413, 'QUESTION_TOO_LONG'],
    ['a body of a megabyte', { question: 'a'.repeat(1_000_000) }, 413, 'BODY_TOO_LARGE'],
    ['a body of ten megabytes', { question: 'a'.repeat(10_000_000) }, 413, 'BODY_TOO_LARGE'],
    ['a misspelt limit', { question: 'q', budget: 1 }, 400, 'INVALID_REQUEST'],
    ['somebody else', { question: 'q', tenant_id: 'ten_x' }, 400, 'INVALID_REQUEST'],
    ['a negative budget', { question: 'q', budget_credits: -1 }, 400, 'INVALID_REQUEST'],
    ['an endless deadline', { question: 'q', deadline_seconds: 1e9 }, 400, 'INVALID_REQUEST'],
    ['a question that is no text', { question: ['q'] }, 400, 'INVALID_REQUEST'],
    ['broken JSON', '{"question": "q"', 400, 'INVALID_REQUEST'],
    ['deep JSON', `{"question":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400, 'INVALID_REQUEST'],
    ['a member given twice', '{"question":"a","quest\\u0069on":"b"}', 400, 'INVALID_REQUEST'],
    ['a prototype', '{"__proto__":{"question":"q"}}', 400, 'INVALID_REQUEST'],
  ])('[Q-17] refuses %s, without a row', async (_title, body, status, code) => {
    const before = await runCount();
    const response = await post(body).catch(() => undefined);
    // above what is read to its end, the connection may be cut while the client still sends
    if (response === undefined) expect(JSON.stringify(body).length).toBeGreaterThan(4 * 1024 * 1024);
    else expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([status, code]);
    expect(await runCount()).toBe(before);
  });
});

const runCount = async (): Promise<number> => Number((await test.sql.rows('SELECT COUNT(*) AS n FROM runs'))[0]?.['n']);

describe('reading runs', () => {
  it('pages through runs, newest first, and filters by status', async () => {
    const ids: RunId[] = [];
    for (let number = 0; number < 5; number++) ids.push(await test.createRun(`page ${number}`));
    const page = async (query: string) => (await (await test.request('GET', `/v1/runs?${query}`)).json()) as { data: RunView[]; last_id: string; has_more: boolean };
    const first = await page('limit=2');
    expect(first.data.map((run) => run.id)).toEqual([ids[4], ids[3]]);
    expect(first.has_more).toBe(true);
    expect((await page(`limit=2&after=${first.last_id}`)).data.map((run) => run.id)).toEqual([ids[2], ids[1]]);
    expect((await page('status=completed')).data).toEqual([]);
    expect((await test.request('GET', '/v1/runs?limit=1000')).status).toBe(400);
    expect((await test.request('GET', '/v1/runs?status=strange')).status).toBe(400);
  });

  it('adds up the usage of the whole tree and the state of the budget', async () => {
    const runId = await test.createRun('usage');
    await addWork(runId);
    const run = RunView.parse(await (await test.request('GET', `/v1/runs/${runId}`)).json());
    expect(run.usage).toEqual({ model_calls: 2, input_tokens: 30, output_tokens: 12, tool_calls: 1, workers: 1 });
    expect(run.budget).toEqual({ limit: 100, reserved: 1, spent: 2.5, left: 96.5, overruns: 0, forecast: 8 });
    expect(run.model).toBe('gpt-5-mini');
    expect((await test.request('GET', `/v1/runs/${workerOf(runId)}`)).status).toBe(404);
  });

  it('shows messages, scratchpad and sources with their citations', async () => {
    const runId = await test.createRun('parts');
    await addWork(runId);
    const part = async (name: string) => (await (await test.request('GET', `/v1/runs/${runId}/${name}`)).json()) as { data?: unknown[]; entries?: unknown[] };
    expect((await part('messages')).data).toMatchObject([{ role: 'user', content: 'parts', is_error: false }]);
    expect((await part('scratchpad')).entries).toMatchObject([{ author: 'research_worker', text: 'found it' }]);
    expect((await part('sources')).data).toMatchObject([
      { url: 'https://a.example/', citation_number: 1, citations: [{ quote: 'so it is', start: 3, end: 11 }] },
    ]);
  });
});

it('shows what a tool answered, and of an error its code only', async () => {
  const runId = await test.createRun('answers');
  const results = [{ kind: 'text', text: 'Note appended.' }, { kind: 'error', code: 'TOOL_UNKNOWN', message: 'There is no tool named "secret_tool".' }];
  await test.sql.batch(
    results.flatMap((result, index) => {
      const [call, attempt] = [`call_${index}${runId.slice(5)}`, `att_${index}${runId.slice(5)}`];
      return [
        {
          sql: `INSERT INTO tool_calls (id, tenant_id, run_id, root_run_id, attempt_id, turn, call_index, name, arguments, effect, status, result, created_at)
            SELECT ?, tenant_id, id, id, ?, 1, 0, 'n', '{}', 'read', 'succeeded', ?, NOW(3) FROM runs WHERE id = ?`,
          values: [call, attempt, JSON.stringify(result), runId],
        },
        {
          sql: `INSERT INTO messages (tenant_id, thread_id, run_id, role, content, tool_call_id, is_error, created_at)
            SELECT tenant_id, thread_id, id, 'tool', '', ?, ?, NOW(3) FROM runs WHERE id = ?`,
          values: [call, index === 1, runId],
        },
      ];
    }),
  );
  const { data } = (await (await test.request('GET', `/v1/runs/${runId}/messages`)).json()) as { data: { content: string }[] };
  expect(data.map(({ content }) => content)).toEqual(['answers', 'Note appended.', 'TOOL_UNKNOWN']);
});

const workerOf = (runId: RunId): string => `run_${runId.slice(4, -1)}${runId.endsWith('0') ? '1' : '0'}`;

async function addWork(runId: RunId): Promise<void> {
  const worker = workerOf(runId);
  const suffix = runId.slice(4);
  await test.sql.batch([
    {
      sql: `INSERT INTO runs (id, tenant_id, thread_id, root_run_id, scratchpad_thread_id, assistant_id, role, worker_number, question, status, turns_max,
        workers_max, source_cap, deadline_at, created_at, sent_at)
        SELECT ?, tenant_id, ?, id, scratchpad_thread_id, assistant_id, 'worker', 1, 'task', 'running', 8, 4, 20, deadline_at, NOW(3), NOW(3) FROM runs WHERE id = ?`,
      values: [worker, `thr_w${suffix.slice(1)}`, runId],
    },
    ...[runId, worker].map((id, index) => ({
      sql: `INSERT INTO attempts (id, tenant_id, run_id, root_run_id, turn, attempt, kind, outcome, provider, model, renderer_version, input_tokens, output_tokens, started_at, settled_at)
        SELECT ?, tenant_id, ?, ?, 1, 1, 'message', 'completed', 'p', 'gpt-5-mini', 1, ?, 6, NOW(3), NOW(3) FROM runs WHERE id = ?`,
      values: [`att_${index}${suffix}`, id, runId, index === 0 ? 10 : 20, runId],
    })),
    {
      sql: `INSERT INTO tool_calls (id, tenant_id, run_id, root_run_id, attempt_id, turn, call_index, name, arguments, effect, status, created_at)
        SELECT ?, tenant_id, id, id, ?, 1, 0, 'n', '{}', 'read', 'open', NOW(3) FROM runs WHERE id = ?`,
      values: [`call_${suffix}`, `att_0${suffix}`, runId],
    },
    { sql: 'UPDATE budgets SET reserved_microcredits = 1000000, spent_microcredits = 2500000 WHERE root_run_id = ?', values: [runId] },
    {
      sql: `INSERT INTO scratchpad_entries (tenant_id, thread_id, run_id, author, worker_number, tool_call_id, kind, text, created_at)
        SELECT tenant_id, scratchpad_thread_id, ?, 'worker', 1, ?, 'finding', 'found it', NOW(3) FROM runs WHERE id = ?`,
      values: [worker, `call_${suffix}`, runId],
    },
    {
      sql: `INSERT INTO sources (id, tenant_id, root_run_id, run_id, tool_call_id, url, url_sha256, final_url, title, media_type, body_sha256, body, chars, extraction, claim_review, fetched_at)
        SELECT ?, tenant_id, id, ?, ?, 'https://a.example/', ?, 'https://a.example/', 'A', 'text/html', ?, '', 20, 'plain', 'pending', NOW(3) FROM runs WHERE id = ?`,
      values: [`src_${suffix}`, worker, `call_${suffix}`, '0'.repeat(64), '1'.repeat(64), runId],
    },
    {
      sql: 'UPDATE runs SET citations = ? WHERE id = ?',
      values: [JSON.stringify([{ sourceId: `src_${suffix}`, number: 1, quotes: [{ quote: 'so it is', start: 3, end: 11 }] }]), runId],
    },
  ]);
}

describe('cancelling', () => {
  it('[Q-18] ends a queued run at once, answers a repeat alike, and leaves ended runs alone', async () => {
    const runId = await test.createRun('stop me');
    const cancel = async () => RunView.parse(await (await test.request('POST', `/v1/runs/${runId}/cancel`)).json());
    const first = await cancel();
    expect(first).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled' });
    expect(await cancel()).toEqual(first);
  });

  it('notes the wish on a run that is being worked on', async () => {
    const runId = await test.createRun('working');
    await test.sql.change("UPDATE runs SET status = 'running', lease_owner = 'p', lease_epoch = 1, lease_expires_at = NOW(3) + INTERVAL 60 SECOND WHERE id = ?", [runId]);
    const run = RunView.parse(await (await test.request('POST', `/v1/runs/${runId}/cancel`, { headers: { 'content-type': 'application/json' } })).json());
    expect(run.status).toBe('running');
    expect(run.cancel_requested_at).not.toBeNull();
  });
});

describe('tenants', () => {
  it('[Q-26] answers a foreign run, a missing one and a malformed id alike on every route', async () => {
    const runId = await test.createRun('mine');
    const routes = [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/messages'],
      ['GET', '/scratchpad'],
      ['GET', '/sources'],
      ['POST', '/cancel'],
      ['GET', '/checkpoint'],
      ['POST', '/resume'],
    ] as const;
    for (const [method, part] of routes) {
      const answers = await Promise.all(
        [runId, `run_${'v'.repeat(26)}`, 'run_1', "run_'--"].map(async (id) => {
          const response = await test.request(method, `/v1/runs/${encodeURIComponent(id)}${part}`, { key: FOREIGN_KEY, headers: { 'x-request-id': 'same', 'last-event-id': 'x' }, ...(part === '/resume' ? { body: { credits: 1 } } : {}) });
          return `${response.status} ${await response.text()}`;
        }),
      );
      expect(new Set(answers), `${method} ${part}`).toEqual(new Set(['404 {"error":{"code":"NOT_FOUND","message":"There is no run with this id.","param":null,"request_id":"same"}}']));
    }
    const list = (await (await test.request('GET', '/v1/runs', { key: FOREIGN_KEY })).json()) as { data: RunView[] };
    expect(list.data.map((run) => run.id)).not.toContain(runId);
    expect((await test.request('GET', `/v1/runs?after=${runId}`, { key: FOREIGN_KEY })).status).toBe(400);
    expect((await test.request('GET', `/v1/runs/${runId}`)).status).toBe(200);
  });
});

describe('forking', () => {
  const fork = (runId: string, body: unknown, key?: string) => test.request('POST', `/v1/runs/${runId}/fork`, { body, ...(key === undefined ? {} : { key }) });

  it('makes a run of its own that links back, and leaves the first as it is', async () => {
    const runId = await test.createRun('fork me');
    const before = await (await test.request('GET', `/v1/runs/${runId}`)).json();
    const response = await fork(runId, { from_turn: 1, budget_credits: 3 });
    expect(response.status).toBe(202);
    const forked = RunView.parse(await response.json());
    expect(forked).toMatchObject({ status: 'queued', question: 'fork me', forked_from: { run_id: runId, turn: 0 }, budget: { limit: 3, spent: 0 } });
    expect(forked.id).not.toBe(runId);
    expect(await (await test.request('GET', `/v1/runs/${runId}`)).json()).toMatchObject({ id: runId, forked_from: null, status: (before as RunView).status });
    await expect.poll(() => countRows('outbox', 'job_id', runJobId(forked.id, 0))).toBe(0);
  });

  it('[Q-25] is made once for an Idempotency-Key, however many ask at once and later', async () => {
    const runId = await test.createRun('fork me once');
    const keyed = (body: unknown, idempotencyKey = 'fork-once') => test.request('POST', `/v1/runs/${runId}/fork`, { body, headers: { 'idempotency-key': idempotencyKey } });
    const ask = async () => RunView.parse(await (await keyed({ from_turn: 1, budget_credits: 3 })).json()).id;
    const ids = await Promise.all(Array.from({ length: 8 }, ask));
    expect(new Set([...ids, await ask()]).size).toBe(1);
    expect(await countRows('runs', 'forked_from', runId)).toBe(1);
    const other = await keyed({ from_turn: 1, budget_credits: 4 });
    expect([other.status, await other.json()]).toMatchObject([422, { error: { code: 'IDEMPOTENCY_KEY_REUSED' } }]);
    expect(RunView.parse(await (await keyed({ from_turn: 1, budget_credits: 4 }, 'another')).json()).id).not.toBe(ids[0]);
  });

  it('[Q-26] is refused for the run of another tenant, and for turns there are not', async () => {
    const runId = await test.createRun('mine alone');
    expect((await fork(runId, { from_turn: 1 }, FOREIGN_KEY)).status).toBe(404);
    const late = await fork(runId, { from_turn: 2 });
    expect([late.status, await late.json()]).toMatchObject([400, { error: { code: 'INVALID_REQUEST', param: 'from_turn' } }]);
    expect((await fork(runId, { from_turn: 0 })).status).toBe(400);
  });
});
