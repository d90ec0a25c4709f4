import { SpendView } from '#contracts';
import { SpendRepository } from '#database';
import { Controller, Get, Inject, Req } from '@nestjs/common';
import { ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { tenantOf } from '../auth/authentication.ts';
import { EstimatesService } from '../estimates/estimates.service.ts';
import { answers, refusals } from '../http/openapi.ts';

@ApiTags('spend')
@ApiBearerAuth()
@refusals(401, 503)
@Controller('v1/spend')
export class SpendController {
  constructor(
    @Inject(SpendRepository) private readonly spend: SpendRepository,
    @Inject(EstimatesService) private readonly estimates: EstimatesService,
  ) {}

  @Get()
  @ApiOperation({ operationId: 'getSpend', summary: 'What this tenant has spent, by operation, and what is left of its quota.' })
  @ApiResponse(answers(200, SpendView, 'Credits over all runs.'))
  async get(@Req() request: FastifyRequest): Promise<SpendView> {
    const spend = await this.spend.of(tenantOf(request));
    return { ...spend, cost: this.estimates.money(spend.operations.reduce((sum, { credits, overruns }) => sum + credits + overruns, 0)) };
  }
}
