import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FloorRun, type FloorPrompts } from './loop.ts';

/**
 * The bare loop behind a small HTTP server, so that it is asked as the engine is: POST /run with a question, events with text, and an end.
 * usage: node bench/floor/main.js WEB_URL, with the prompts as JSON on standard input.
 */
async function readPrompts(): Promise<FloorPrompts> {
  let text = '';
  for await (const part of process.stdin) text += String(part);
  return JSON.parse(text) as FloorPrompts;
}

const webUrl = new URL(process.argv[2] ?? '');
const prompts = await readPrompts();
const server = createServer((request, response) => {
  let question = '';
  request.setEncoding('utf8').on('data', (data: string) => (question += data));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (body: object): boolean => response.write(`data: ${JSON.stringify(body)}\n\n`);
    new FloorRun(webUrl, prompts)
      .research(question, (text) => event({ text }))
      .then((report) => event({ done: report.length }), (error: unknown) => event({ error: String(error) }))
      .finally(() => response.end());
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`Floor ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`));
process.once('SIGTERM', () => process.exit(0));
