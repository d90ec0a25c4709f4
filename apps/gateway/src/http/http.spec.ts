import { ErrorView } from '#contracts';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { figure } from '#testing';
import { ADMIN_KEY, KEY, startTestGateway, type TestGateway } from '../spec-support/test-gateway.ts';

let test: TestGateway;
beforeAll(async () => {
  test = await startTestGateway();
});
afterAll(() => test.stop());

const json = { 'content-type': 'application/json' };

describe('the error shape', () => {
  it.each([
    ['an unknown address', 'GET', '/v1/nothing', {}, 404, 'NOT_FOUND'],
    ['an unknown address outside the API', 'GET', '/nothing', {}, 404, 'NOT_FOUND'],
    ['a method the address does not know', 'DELETE', '/v1/runs', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['a method a run does not know', 'PUT', `/v1/runs/run_${'0'.repeat(26)}`, { body: {} }, 405, 'METHOD_NOT_ALLOWED'],
    ['HEAD', 'HEAD', '/v1/runs', {}, 405, null],
    ['text instead of JSON', 'POST', '/v1/runs', { body: '{"question":"q"}', headers: { 'content-type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a form', 'POST', '/v1/runs', { body: 'question=q', headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['bytes that are no text', 'POST', '/v1/runs', { body: '\u0000', headers: json }, 400, 'INVALID_REQUEST'],
    ['a list instead of an object', 'POST', '/v1/runs', { body: [] }, 400, 'INVALID_REQUEST'],
    ['a strange query', 'GET', '/v1/runs?limit=0', {}, 400, 'INVALID_REQUEST'],
    ['an unknown query', 'GET', '/v1/runs?tenant_id=x', {}, 400, 'INVALID_REQUEST'],
    ['a broken escape', 'GET', '/v1/runs/%ff', {}, 400, 'INVALID_REQUEST'],
    ['a very long id', 'GET', `/v1/runs/${'r'.repeat(5_000)}`, {}, 404, 'NOT_FOUND'],
    ['a NUL in an id', 'GET', '/v1/runs/run_%00', {}, 404, 'NOT_FOUND'],
  ])('is the same for %s', async (_title, method, path, options, status, code) => {
    const response = await test.request(method, path, options);
    expect(response.status).toBe(status);
    expect(String(response.headers.get('x-request-id'))).toMatch(/^[0-9a-f]{24}$/);
    if (code === null) return;
    const text = await response.text();
    const { error } = ErrorView.parse(JSON.parse(text));
    expect(error).toMatchObject({ code, request_id: response.headers.get('x-request-id') });
    expect(text).not.toMatch(/\bat .*\.[jt]s|node_modules|SELECT |ER_/);
    expect(response.headers.get('content-type')).toContain('application/json');
  });

  it('names the part to fix', async () => {
    const response = await test.request('POST', '/v1/runs', { body: { question: 'q', budget_credits: 'many' } });
    expect(((await response.json()) as ErrorView).error).toMatchObject({ param: 'budget_credits' });
  });

  it('says which methods an address knows', async () => {
    expect((await test.request('PATCH', '/v1/runs', { body: {} })).headers.get('allow')).toBe('GET, POST');
  });

  it('takes a request id over, and only a harmless one', async () => {
    expect((await test.request('GET', '/healthz', { headers: { 'x-request-id': 'abc-1.2' } })).headers.get('x-request-id')).toBe('abc-1.2');
    expect((await test.request('GET', '/healthz', { headers: { 'x-request-id': 'a b{}' } })).headers.get('x-request-id')).toMatch(/^[0-9a-f]{24}$/);
  });

  it('answers what is not even HTTP', async () => {
    const socket = net.connect(test.gateway.port, '127.0.0.1');
    socket.write('HELLO\r\n\r\n');
    const text = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    expect(text).toMatch(/^HTTP\/1\.1 400 [^]*"code":"INVALID_REQUEST"/);
    socket.destroy();
  });
});

describe('keys', () => {
  const UNIFORM = { code: 'UNAUTHORIZED', message: 'A valid API key is needed: send it as "Authorization: Bearer qk_...".', param: null, request_id: 'same' };

  it.each([
    ['none', {}],
    ['an empty one', { authorization: '' }],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['an unknown key', { authorization: `Bearer qk_${'z'.repeat(43)}` }],
    ['a key with one letter changed', { authorization: `Bearer ${KEY.slice(0, -1)}b` }],
    ['another scheme', { authorization: `Basic ${Buffer.from(`x:${KEY}`).toString('base64')}` }],
    ['the admin key', { authorization: `Bearer ${ADMIN_KEY}` }],
    ['a key of ten kilobytes', { authorization: `Bearer qk_${'a'.repeat(10_000)}` }],
    ['two keys', { authorization: `Bearer ${KEY}, Bearer ${KEY}` }],
    ["somebody's SQL", { authorization: "Bearer qk_' OR 1=1 --aaaaaaaaaaaaaaaa" }],
  ])('[Q-26] answers %s with the same 401', async (_title, headers) => {
    for (const path of ['/v1/runs', '/v1/info', `/v1/runs/run_${'0'.repeat(26)}/events`, '/%76%31/runs']) {
      const response = await test.request('GET', path, { key: null, headers: { ...headers, 'x-request-id': 'same' } });
      expect(response.status).toBe(401);
      expect(((await response.json()) as ErrorView).error).toEqual(UNIFORM);
    }
  });

  it('asks for a key before it reads a body', async () => {
    const socket = net.connect(test.gateway.port, '127.0.0.1');
    socket.write('POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n{');
    const text = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  it('keeps only the hash of a key', async () => {
    const rows = await test.sql.rows('SELECT * FROM api_keys');
    expect(JSON.stringify(rows)).not.toContain(KEY);
    expect(rows.map((row) => row['shown_prefix'] as string)).toContain('qk_aaaaaa');
  });

  it('has no route that is open by accident', async () => {
    const document = (await (await test.request('GET', '/openapi.json', { key: null })).json()) as { paths: Record<string, Record<string, unknown>> };
    const operations = Object.entries(document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => [method, path] as const));
    expect(operations.length).toBeGreaterThanOrEqual(9);
    for (const [method, path] of operations) {
      const response = await test.request(method.toUpperCase(), path.replace('{id}', `run_${'0'.repeat(26)}`), { key: null });
      expect([path, response.status]).toEqual([path, 401]);
    }
  });
});

describe('what is open to everybody', () => {
  it('tells health, readiness and metrics', async () => {
    expect(await (await test.request('GET', '/healthz', { key: null })).json()).toEqual({ status: 'ok' });
    expect(await (await test.request('GET', '/readyz', { key: null })).json()).toEqual({ status: 'ready', failing: [] });
    expect(await (await test.request('GET', '/metrics', { key: null })).text()).toContain('quaestor_event_stream_readers');
  });

  it('tells what queues and runs hold, and how the process does', async () => {
    const before = await figure('runs{status="queued"}');
    const waiting = await figure('jobs{queue="runs",state="waiting"}');
    const runId = await test.createRun();
    await test.sql.change('UPDATE runs SET created_at = created_at - INTERVAL 1 HOUR WHERE id = ?', [runId]);
    await expect.poll(() => figure('runs{status="queued"}'), { timeout: 5_000 }).toBe(before! + 1);
    await expect.poll(() => figure('jobs{queue="runs",state="waiting"}'), { timeout: 5_000 }).toBe(waiting! + 1);
    await expect.poll(() => figure('oldest_queued_run_seconds'), { timeout: 5_000 }).toBeGreaterThanOrEqual(3_600);
    const text = await (await test.request('GET', '/metrics', { key: null })).text();
    expect(text.match(/^quaestor_jobs\{/gm)).toHaveLength(12);
    expect(text.match(/^quaestor_runs\{/gm)).toHaveLength(3);
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
  });

  it('describes the API from the same schemas that check it, and serves its page from here', async () => {
    const document = (await (await test.request('GET', '/openapi.json', { key: null })).json()) as {
      paths: Record<string, { post?: { requestBody: { content: { 'application/json': { schema: { properties: object; additionalProperties: boolean } } } } } }>;
    };
    const body = document.paths['/v1/runs']?.post?.requestBody.content['application/json'].schema;
    expect(Object.keys(body?.properties ?? {})).toEqual(['question', 'budget_credits', 'deadline_seconds', 'source_cap', 'workers', 'allowed_hosts', 'denied_hosts', 'estimate_mode']);
    expect(body?.additionalProperties).toBe(false);
    const page = await (await test.request('GET', '/docs', { key: null })).text();
    expect(page).not.toMatch(/(?:src|href)="https?:/);
    expect((await test.request('GET', '/docs/swagger-ui-bundle.js', { key: null })).status).toBe(200);
  });

  it('tells what the installation is, to holders of a key', async () => {
    expect(await (await test.request('GET', '/v1/info')).json()).toMatchObject({ object: 'info', model: 'extractive', search_provider: 'local', docs_folder: null });
  });
});

describe('the queue page', () => {
  const basic = (password: string) => ({ authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` });

  it('opens for the admin key only, as token and as password', async () => {
    expect((await test.request('GET', '/admin/queues', { key: null })).headers.get('www-authenticate')).toMatch(/^Basic /);
    expect((await test.request('GET', '/admin/queues')).status).toBe(401);
    expect((await test.request('GET', '/admin/queues/api/queues', { key: null, headers: basic('wrong') })).status).toBe(401);
    expect((await test.request('GET', '/admin/queues', { key: ADMIN_KEY })).status).toBe(200);
    const queues = (await (await test.request('GET', '/admin/queues/api/queues', { key: null, headers: basic(ADMIN_KEY) })).json()) as { queues: { name: string; readOnlyMode: boolean }[] };
    expect(queues.queues.map((queue) => [queue.name, queue.readOnlyMode])).toEqual([['runs', true], ['delegations', true], ['scratchpad', true]]);
  });

  it('changes nothing', async () => {
    const runId = await test.createRun();
    await expect.poll(async () => (await test.request('GET', `/admin/queues/api/queues/runs/${runId}.0`, { key: ADMIN_KEY })).status).toBe(200);
    const response = await test.request('PUT', `/admin/queues/api/queues/runs/${runId}.0/clean`, { key: ADMIN_KEY });
    expect(response.status).toBe(405);
    expect((await test.request('GET', `/admin/queues/api/queues/runs/${runId}.0`, { key: ADMIN_KEY })).status).toBe(200);
  });
});
