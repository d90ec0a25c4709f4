import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCRIPTS } from './scripts/index.ts';
import type { Fault, ModelScript } from './script.ts';
import { startModelServer, type ModelServer } from './server.ts';
import type { WireMessage, WireTool } from './wire-types.ts';

const tool = (name: string): WireTool => ({ type: 'function', function: { name, description: name, parameters: { type: 'object', properties: {} } } });
const SUPERVISOR_TOOLS = ['delegate_research_task', 'read_scratchpad', 'append_scratchpad', 'update_scratchpad'].map(tool);
const WORKER_TOOLS = ['perform_web_search', 'read_web_page', 'read_scratchpad', 'append_scratchpad'].map(tool);
const FAULTS: Record<string, Fault> = {
  cut: { kind: 'cut', afterChunks: 1 },
  garbage: { kind: 'garbage', afterChunks: 1 },
  status: { kind: 'status', status: 429, retryAfterSeconds: 3 },
  arguments: { kind: 'cut-arguments' },
  error: { kind: 'error-chunk', afterChunks: 1, message: 'broken' },
};
const faulty: ModelScript = {
  name: 'faulty',
  description: 'fails as its parameter says',
  answer: ({ parameters }) => ({ text: 'one two three four', calls: [{ name: 'read_web_page', arguments: { url: 'http://a.example/page' } }], fault: FAULTS[parameters.get('fault') ?? ''] }),
};

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer({ scripts: [...SCRIPTS, faulty], defaultScript: SCRIPTS[0]! });
});
afterAll(() => server.close());

const post = (messages: WireMessage[], tools: WireTool[] | undefined, stream: boolean): Promise<Response> =>
  fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'scripted', messages, tools, stream, stream_options: stream ? { include_usage: true } : undefined }),
  });

interface Streamed {
  message: WireMessage;
  finish: string | null;
  usage: { completion_tokens: number } | null;
  isDone: boolean;
}

/** A reader of its own, so that the server is not judged by the client it was built for. */
function assemble(text: string): Streamed {
  const streamed: Streamed = { message: { role: 'assistant', content: '' }, finish: null, usage: null, isDone: false };
  for (const event of text.split('\n\n').filter(Boolean)) {
    const data = event.replace(/^data: /, '');
    if (data === '[DONE]') streamed.isDone = true;
    else addChunk(streamed, JSON.parse(data));
  }
  return streamed;
}

function addChunk(streamed: Streamed, chunk: { usage?: Streamed['usage']; choices?: { delta: WireMessage & { tool_calls?: { index: number }[] }; finish_reason: string | null }[] }): void {
  streamed.usage = chunk.usage ?? streamed.usage;
  const choice = chunk.choices?.[0];
  if (choice === undefined) return;
  streamed.finish = choice.finish_reason ?? streamed.finish;
  streamed.message.content = `${streamed.message.content as string}${(choice.delta.content as string | undefined) ?? ''}`;
  for (const delta of choice.delta.tool_calls ?? []) {
    const calls = (streamed.message.tool_calls ??= []);
    const call = (calls[delta.index] ??= { ...delta, function: { ...delta.function, arguments: '' } });
    call.function.arguments += delta.function.arguments;
  }
}

async function ask(messages: WireMessage[], tools?: WireTool[]): Promise<WireMessage> {
  const response = await post(messages, tools, true);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const streamed = assemble(text);
  expect(streamed.isDone && streamed.finish !== null && streamed.usage !== null).toBe(true);
  return streamed.message;
}

const opening = (role: string, question: string): WireMessage[] => [
  { role: 'system', content: `You are the ${role}.` },
  { role: 'user', content: question },
];

/** Plays one role to its final answer; every call gets `result`. */
async function play(role: string, question: string, tools: WireTool[], result: (name: string, args: string) => Promise<string> | string): Promise<{ text: string; turns: number; calls: string[] }> {
  const messages = opening(role, question);
  const calls: string[] = [];
  for (let turns = 1; turns < 30; turns++) {
    const message = await ask(messages, tools);
    if (message.tool_calls === undefined) return { text: message.content as string, turns, calls };
    messages.push(message);
    for (const call of message.tool_calls) {
      calls.push(call.function.name);
      messages.push({ role: 'tool', tool_call_id: call.id, content: await result(call.function.name, call.function.arguments) });
    }
  }
  throw new Error('the script does not end');
}

describe('scripts', () => {
  it('bench: 32 model calls with 4 workers of 6 calls, and a report that cites', async () => {
    const question = 'Question. bench(n4,k6,u1) run.whole';
    const worker = (args: string) => play('worker', (JSON.parse(args) as { task: string }).task, WORKER_TOOLS, () => 'result').then(({ text }) => text);
    const played = await play('supervisor', question, SUPERVISOR_TOOLS, (name, args) => (name === 'delegate_research_task' ? worker(args) : 'pad'));
    expect(played.text).toContain(`[source](${server.url}/page/0/1?run=whole)`);
    const record = server.records.list().find(({ id }) => id === 'whole');
    expect(record).toMatchObject({ modelRequests: 32, protocolProblems: 0, roles: { supervisor: { requests: 4 }, worker: { requests: 28 } } });
    expect(record!.busyMs).toBeGreaterThan(0);
    expect(record!.distinctBytes).toBeLessThan(record!.bytesIn);
  });

  it('seven-evidence: a worker writes only what the scratchpad showed it', async () => {
    const task = '[task 1] Read. seven-evidence() run.seven';
    const notes: string[] = [];
    const pad = (text: string) => (name: string, args: string) => (name === 'append_scratchpad' ? (notes.push(args), 'ok') : name === 'read_scratchpad' ? text : 'x');
    await play('worker', task, WORKER_TOOLS, pad(`SEED-${'a'.repeat(16)} MARKER-${'b'.repeat(16)}`));
    await play('worker', task, WORKER_TOOLS, pad('nothing here'));
    expect(notes[0]).toContain(`ACK-${'b'.repeat(16)} for seed ${'a'.repeat(16)}`);
    expect(notes[1]).toContain('ACK-not found');
  });

  it('always-tools: asks for tools although none are offered', async () => {
    const message = await ask(opening('worker', 'always-tools() run.loop'));
    expect(message.tool_calls?.[0]?.function.name).toBe('perform_web_search');
  });

  it('answers whole when no stream is asked for', async () => {
    const response = await post(opening('supervisor', 'happy() run.whole2'), SUPERVISOR_TOOLS, false);
    expect(await response.json()).toMatchObject({ choices: [{ finish_reason: 'tool_calls', message: { tool_calls: [{ type: 'function' }] } }] });
  });

  it('paces chunks by the delay of the script', async () => {
    const startedMs = performance.now();
    await ask(opening('supervisor', 'bench(t5,d10) run.slow'), SUPERVISOR_TOOLS);
    expect(performance.now() - startedMs).toBeGreaterThan(100);
  });
});

describe('faults', () => {
  const stream = (fault: string) => post(opening('worker', `faulty(fault=${fault}) run.faults`), WORKER_TOOLS, true).then((response) => response.text());

  it('status carries Retry-After', async () => {
    const response = await post(opening('worker', 'faulty(fault=status) run.faults'), WORKER_TOOLS, true);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3']);
  });
  it.each(['cut', 'garbage', 'arguments'])('%s ends the connection without an end marker', async (fault) => {
    await expect(stream(fault)).rejects.toThrow();
  });
  it('an error chunk ends without a finish reason', async () => {
    expect(await stream('error')).toMatch(/"error":.*broken/);
  });
});

describe('fixture web', () => {
  it('finds pages in the form of SearXNG and serves 20 to 195 KB of them', async () => {
    const found = (await (await fetch(`${server.url}/search?q=slot+2+run.web&format=json`)).json()) as { results: { url: string; content: string }[] };
    expect(found.results).toHaveLength(10);
    const page = await fetch(found.results[0]!.url);
    const html = await page.text();
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(html.length).toBeGreaterThan(20_000);
    expect(html.length).toBeLessThan(210_000);
    expect(server.records.list().find(({ id }) => id === 'web')?.webRequests).toBe(2);
  });
});

describe('strict mode', () => {
  const called = async (): Promise<{ messages: WireMessage[]; id: string }> => {
    const messages = opening('worker', 'bench() run.strict');
    const message = await ask(messages, WORKER_TOOLS);
    return { messages: [...messages, message], id: message.tool_calls![0]!.id };
  };
  const refusal = async (messages: WireMessage[], tools: WireTool[] | undefined = WORKER_TOOLS): Promise<string> => {
    const response = await post(messages, tools, true);
    expect(response.status).toBe(400);
    return ((await response.json()) as { error: { message: string } }).error.message;
  };
  const result = (id: string): WireMessage => ({ role: 'tool', tool_call_id: id, content: 'x' });

  it('[Q-11] refuses a call without its result, a result without its call, and a second result', async () => {
    const { messages, id } = await called();
    expect(await refusal([...messages, { role: 'user', content: 'and?' }])).toContain('have no tool message');
    expect(await refusal([...messages.slice(0, 2), result(id)])).toContain('answers no tool call');
    expect(await refusal([...messages, result(id), result(id)])).toContain('answers no tool call');
  });
  it('[Q-11] refuses an id that differs from the issued one by a byte', async () => {
    const { messages, id } = await called();
    const changed = structuredClone(messages);
    changed.at(-1)!.tool_calls![0]!.id = `${id}x`;
    expect(await refusal([...changed, result(`${id}x`)])).toContain('never issued');
    expect(await refusal([...messages, result(id.toUpperCase())])).toContain('does not match');
  });
  it('refuses unknown roles, late system messages, bad tools and empty messages', async () => {
    const [system, user] = opening('worker', 'bench() run.strict') as [WireMessage, WireMessage];
    expect(await refusal([system, { role: 'function', content: 'x' }])).toContain('unknown role');
    expect(await refusal([user, system])).toContain('must come first');
    expect(await refusal([system, { role: 'user', content: '' }])).toContain('is empty');
    expect(await refusal([system, user], [tool('a'), tool('a')])).toContain('offered twice');
    expect(await refusal([system, user], [{ type: 'function', function: { name: 'a', parameters: { type: 'string' } } }])).toContain('JSON Schema');
    expect(await refusal([system, user, { role: 'assistant', content: 'done' }])).toContain('nothing to answer');
  });
});
