import { Agent, request } from 'node:http';

export interface FloorMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

interface Delta {
  content?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
}

const agent = new Agent({ keepAlive: true, maxSockets: 4_096 });

/** One streamed model call with the least code that reads it: Node's http, a search for blank lines, JSON.parse. */
export function chat(baseUrl: URL, messages: readonly FloorMessage[], tools: readonly object[], onText?: (text: string) => void): Promise<FloorMessage> {
  const payload = JSON.stringify({ model: 'scripted', messages, tools, stream: true, stream_options: { include_usage: true } });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer scripted', 'content-length': Buffer.byteLength(payload) };
  return new Promise((resolve, reject) => {
    const sent = request({ host: baseUrl.hostname, port: baseUrl.port, path: '/v1/chat/completions', method: 'POST', agent, headers }, (response) => {
      const answer: FloorMessage = { role: 'assistant', content: '' };
      let pending = '';
      response.setEncoding('utf8');
      response.on('data', (data: string) => {
        pending += data;
        let start = 0;
        for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n', start)) {
          readEvent(pending.slice(start + 'data: '.length, end), answer, onText);
          start = end + 2;
        }
        if (start > 0) pending = pending.slice(start);
      });
      response.on('end', () => (response.statusCode === 200 ? resolve(answer) : reject(new Error(`model answered ${response.statusCode}: ${pending}`))));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(payload);
  });
}

function readEvent(data: string, answer: FloorMessage, onText?: (text: string) => void): void {
  if (data === '[DONE]') return;
  const delta = (JSON.parse(data) as { choices: { delta: Delta }[] }).choices[0]?.delta;
  if (delta?.content) {
    answer.content += delta.content;
    onText?.(delta.content);
  }
  for (const part of delta?.tool_calls ?? []) {
    const calls = (answer.tool_calls ??= []);
    const call = (calls[part.index] ??= { id: part.id ?? '', type: 'function', function: { name: part.function.name ?? '', arguments: '' } });
    call.function.arguments += part.function.arguments ?? '';
  }
}

/** Body of a GET, as text. */
export function getText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (data: Buffer) => parts.push(data));
      response.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}
