import { EstimateRequest, EstimateView } from '#contracts';
import { Body, Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { tenantOf } from '../auth/authentication.ts';
import { answers, refusals } from '../http/openapi.ts';
import { EstimatesService } from './estimates.service.ts';

@ApiTags('estimates')
@ApiBearerAuth()
@refusals(401, 503)
@Controller('v1/estimates')
export class EstimatesController {
  constructor(@Inject(EstimatesService) private readonly estimates: EstimatesService) {}

  @Post()
  @HttpCode(200)
  @ApiOperation({ operationId: 'estimateRun', summary: 'What a run would use. Nothing is spent and nothing is written.' })
  @ApiResponse(answers(200, EstimateView, 'A forecast with a range for each figure.'))
  @refusals(400, 413, 415)
  estimate(@Req() request: FastifyRequest, @Body({ schema: EstimateRequest }) body: EstimateRequest): Promise<EstimateView> {
    return this.estimates.estimate(tenantOf(request), body);
  }
}
