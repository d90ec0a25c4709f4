import { SpendView } from '#contracts';
import { SpendRepository } from '#database';
import { Controller, Get, Inject, Req } from '@nestjs/common';
import { ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { tenantOf } from '../auth/authentication.ts';
import { answers, refusals } from '../http/openapi.ts';

@ApiTags('spend')
@ApiBearerAuth()
@refusals(401, 503)
@Controller('v1/spend')
export class SpendController {
  constructor(@Inject(SpendRepository) private readonly spend: SpendRepository) {}

  @Get()
  @ApiOperation({ operationId: 'getSpend', summary: 'What this tenant has spent, by operation, and what is left of its quota.' })
  @ApiResponse(answers(200, SpendView, 'Credits over all runs.'))
  get(@Req() request: FastifyRequest): Promise<SpendView> {
    return this.spend.of(tenantOf(request));
  }
}
