import { ErrorView } from '#contracts';
import { applyDecorators } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { ApiResponse, DocumentBuilder, SwaggerModule, type ApiResponseMetadata } from '@nestjs/swagger';
import type { z } from 'zod';

const REFUSALS = {
  400: 'The request is not valid; `error.param` names the part to fix.',
  401: 'No valid API key.',
  402: 'The credits are not there; `error.param` names what to raise.',
  404: 'No such run.',
  409: 'The run is not in a state for this.',
  413: 'The question or the body is too large.',
  415: 'The body is not JSON.',
  422: 'The idempotency key was used for another request.',
  503: 'The service cannot do it at the moment; `Retry-After` says when to try again.',
} as const;

/** A response of that shape, for `@ApiResponse`. */
export const answers = (status: number, schema: z.ZodType, description: string): ApiResponseMetadata => ({ status, description, standardSchema: schema });

/** The refusals a route can answer with, all of one shape. */
export const refusals = (...statuses: (keyof typeof REFUSALS)[]): MethodDecorator & ClassDecorator =>
  applyDecorators(...statuses.map((status) => ApiResponse({ status, description: REFUSALS[status], standardSchema: ErrorView })));

/** `/openapi.json` and the page `/docs`, whose files are served by this process. The document is built when it is first asked for. */
export function serveOpenApi(app: INestApplication, version: string): void {
  const about = new DocumentBuilder()
    .setTitle('Quaestor')
    .setDescription('Deep research: a question goes in, a cited report comes out.')
    .setVersion(version)
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'qk_...' })
    .build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, about), { jsonDocumentUrl: 'openapi.json', raw: ['json'] });
}
