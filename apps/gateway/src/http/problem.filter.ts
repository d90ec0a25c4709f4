import { ERROR_CODES } from '#contracts';
import type { Logger } from '#platform';
import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problemOf, toErrorView } from './problem.ts';
import type { RouteMethods } from './route-methods.ts';

/** The only place that answers errors: one shape for all of them, whoever threw. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly logger: Logger,
    private readonly routes: RouteMethods,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    let problem = problemOf(error);
    const allowed = problem.code === 'NOT_FOUND' && request.is404 ? this.routes.allowed(request.url) : [];
    if (allowed.length > 0 && !allowed.includes(request.method)) {
      problem = { ...problem, code: 'METHOD_NOT_ALLOWED', message: `This address knows ${allowed.join(', ')} only.` };
      void reply.header('allow', allowed.join(', '));
    }
    if (problem.unexpected) this.logger.error({ err: error, requestId: request.id }, 'a request failed');
    if (reply.sent) return;
    void reply.header('x-request-id', request.id);
    if (problem.retryAfterSeconds !== null) void reply.header('retry-after', String(problem.retryAfterSeconds));
    if (problem.code === 'UNAUTHORIZED') void reply.header('www-authenticate', 'Bearer');
    void reply.status(ERROR_CODES[problem.code].httpStatus).header('content-type', 'application/json; charset=utf-8').send(toErrorView(problem, request.id));
  }
}
