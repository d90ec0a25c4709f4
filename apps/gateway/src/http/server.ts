import { QuaestorError, REQUEST_BODY_BYTES_MAX } from '#contracts';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { parseJsonBody } from './json-body.ts';
import type { ProblemFilter } from './problem.filter.ts';
import { problemOf, toErrorView } from './problem.ts';
import type { RouteMethods } from './route-methods.ts';

/** Bodies up to here are read to their end before they are refused, so that the client sees the answer and not a reset connection. */
const BODY_READ_BYTES_MAX = 4 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** A database that hangs must not hold requests for ever; event streams are exempt, they have left the handler. */
const HANDLER_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const REQUEST_ID = /^[\w.-]{1,64}$/;

/** Fastify with our bounds: request ids, bodies, times. What goes wrong before a route is found is answered like everything else. */
export function createAdapter(problems: ProblemFilter): FastifyAdapter {
  return new FastifyAdapter({
    bodyLimit: BODY_READ_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: (request: IncomingMessage) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
    },
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => problems.answer(error, request, reply),
    clientErrorHandler: (_error: Error, socket: Socket) => refuseConnection(socket),
    routerOptions: { maxParamLength: 128 },
  });
}

const newRequestId = (): string => randomBytes(12).toString('hex');

/** For bytes that are no request, where there is no reply to answer with. */
function refuseConnection(socket: Socket): void {
  if (!socket.writable) return;
  const body = JSON.stringify(toErrorView(problemOf(new QuaestorError('INVALID_REQUEST', 'This is not a complete HTTP request.')), newRequestId()));
  socket.end(`HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
}

/** Hooks that must stand before any route is added. */
export function prepareServer(fastify: FastifyInstance, routes: RouteMethods): void {
  fastify.addHook('onRoute', (route) => routes.add(route.url, route.method));
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff').header('cache-control', 'no-store');
    done();
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      if (Buffer.byteLength(body) > REQUEST_BODY_BYTES_MAX) throw bodyTooLarge();
      done(null, parseJsonBody(body));
    } catch (error) {
      done(error as Error);
    }
  });
}

const bodyTooLarge = (): QuaestorError =>
  new QuaestorError('BODY_TOO_LARGE', `The request body is larger than ${REQUEST_BODY_BYTES_MAX / 1024} KiB.`);
