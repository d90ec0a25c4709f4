import type { Socket } from 'node:net';

const REASONS: Record<number, string> = { 200: 'OK', 400: 'Bad Request', 401: 'Unauthorized', 404: 'Not Found', 429: 'Too Many Requests', 500: 'Internal Server Error', 503: 'Service Unavailable' };

const head = (status: number, headers: string): string => `HTTP/1.1 ${status} ${REASONS[status] ?? 'Status'}\r\n${headers}\r\n`;

/** Head of an event stream in chunked transfer. */
export const EVENT_STREAM_HEAD = head(200, 'content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n');
export const LAST_CHUNK = '0\r\n\r\n';

export const httpChunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

export function sendJson(socket: Socket, body: unknown, status = 200, extraHeaders = ''): void {
  sendBytes(socket, Buffer.from(JSON.stringify(body)), 'application/json', status, extraHeaders);
}

export function sendBytes(socket: Socket, body: Buffer, contentType: string, status = 200, extraHeaders = ''): void {
  if (socket.destroyed) return;
  socket.write(head(status, `content-type: ${contentType}\r\ncontent-length: ${body.length}\r\n${extraHeaders}`));
  socket.write(body);
}
