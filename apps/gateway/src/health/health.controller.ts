import { failingChecks, metricsRegistry, type ReadinessCheck } from '#platform';
import { Controller, Get, HttpStatus, Inject, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';

export const READINESS_CHECKS = Symbol('readiness checks');
export type ReadinessChecks = Readonly<Record<string, ReadinessCheck>>;

/** For whoever runs the process. Names of failing checks, never their errors. */
@ApiExcludeController()
@Controller()
export class HealthController {
  constructor(@Inject(READINESS_CHECKS) private readonly checks: ReadinessChecks) {}

  @Get('healthz')
  alive(): { status: string } {
    return { status: 'ok' };
  }

  @Get('readyz')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<{ status: string; failing: string[] }> {
    const failing = await failingChecks(this.checks);
    if (failing.length === 0) return { status: 'ready', failing };
    void reply.status(HttpStatus.SERVICE_UNAVAILABLE).header('retry-after', '1');
    return { status: 'not_ready', failing };
  }

  @Get('metrics')
  async metrics(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.type(metricsRegistry.contentType);
    return metricsRegistry.metrics();
  }
}
