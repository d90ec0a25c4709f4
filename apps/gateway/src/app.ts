import { nestLogger, type Logger } from '#platform';
import type { dashboardQueues } from '#queue';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { serveQueueDashboard } from './admin/queue-dashboard.ts';
import type { Authentication } from './auth/authentication.ts';
import { GatewayModule, type GatewayParts } from './gateway.module.ts';
import { serveOpenApi } from './http/openapi.ts';
import { ProblemFilter } from './http/problem.filter.ts';
import { RouteMethods } from './http/route-methods.ts';
import { createAdapter, prepareServer } from './http/server.ts';
import { validationPipe } from './http/validation.ts';

export interface AppOptions {
  parts: GatewayParts;
  authentication: Authentication;
  logger: Logger;
  /** Only with an admin key there is a queue page. */
  admin?: { key: string; queues: ReturnType<typeof dashboardQueues> };
}

/** The HTTP application, not yet listening. */
export async function createApp({ parts, authentication, logger, admin }: AppOptions): Promise<NestFastifyApplication> {
  const routes = new RouteMethods();
  const problems = new ProblemFilter(logger, routes);
  const adapter = createAdapter(problems);
  const fastify = adapter.getInstance();
  prepareServer(fastify, routes);
  authentication.protect(fastify);
  if (admin) await serveQueueDashboard(fastify, admin.queues, admin.key);
  const app = await NestFactory.create<NestFastifyApplication>(GatewayModule.of(parts), adapter, {
    bodyParser: false,
    abortOnError: false,
    logger: nestLogger(logger),
  });
  app.useGlobalPipes(validationPipe());
  app.useGlobalFilters(problems);
  serveOpenApi(app, parts.info.version);
  return app;
}
