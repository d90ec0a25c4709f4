import { CheckpointView, CreateRunRequest, ForkRunRequest, ResumeRunRequest, ListView, MessageView, RunId, RunStatus, RunView, ScratchpadView, SourceView, type List } from '#contracts';
import { Body, Controller, Get, Headers, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { tenantOf } from '../auth/authentication.ts';
import { answers, refusals } from '../http/openapi.ts';
import { parseRunId, RunsService } from './runs.service.ts';

const PAGE_DEFAULT = 20;
const PAGE_MAX = 100;

const ListRunsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT).describe('Runs of one page.'),
  after: RunId.optional().describe('The last_id of the page before.'),
  status: RunStatus.optional(),
});
type ListRunsQuery = z.infer<typeof ListRunsQuery>;

const runIdParameter = { name: 'id', description: 'Id of the run, `run_...`.', schema: { type: 'string' } } as const;

@ApiTags('runs')
@ApiBearerAuth()
@refusals(401, 503)
@Controller('v1/runs')
export class RunsController {
  constructor(@Inject(RunsService) private readonly runs: RunsService) {}

  @Post()
  @HttpCode(202)
  @ApiOperation({ operationId: 'createRun', summary: 'Ask a question. The run is durable when this returns.' })
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'A repeat with the same key and body returns the same run, for 24 hours.' })
  @ApiResponse(answers(202, RunView, 'The accepted run, or the one that the key already stands for.'))
  @refusals(400, 402, 413, 415, 422)
  create(@Req() request: FastifyRequest, @Body({ schema: CreateRunRequest }) body: CreateRunRequest, @Headers('idempotency-key') key?: string): Promise<RunView> {
    return this.runs.create(tenantOf(request), body, key);
  }

  @Get()
  @ApiOperation({ operationId: 'listRuns', summary: 'Runs of this tenant, newest first.' })
  @ApiResponse(answers(200, ListView(RunView), 'One page.'))
  @refusals(400)
  list(@Req() request: FastifyRequest, @Query({ schema: ListRunsQuery }) query: ListRunsQuery): Promise<List<RunView>> {
    return this.runs.list(tenantOf(request), query);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'getRun', summary: 'One run with its report.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(200, RunView, 'The run as it stands.'))
  @refusals(404)
  get(@Req() request: FastifyRequest, @Param('id') id: string): Promise<RunView> {
    return this.runs.get(tenantOf(request), parseRunId(id));
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @ApiOperation({ operationId: 'cancelRun', summary: 'Ask a run to end. A run that has ended stays as it is.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(200, RunView, 'The run as it stands.'))
  @refusals(404)
  cancel(@Req() request: FastifyRequest, @Param('id') id: string): Promise<RunView> {
    return this.runs.cancel(tenantOf(request), parseRunId(id));
  }

  @Post(':id/resume')
  @HttpCode(202)
  @ApiOperation({ operationId: 'resumeRun', summary: 'Go on with a stopped run, with more credits or time. A repeat returns the same successor.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(202, RunView, 'The run that continues it.'))
  @refusals(400, 402, 404, 409)
  resume(@Req() request: FastifyRequest, @Param('id') id: string, @Body({ schema: ResumeRunRequest }) body: ResumeRunRequest): Promise<RunView> {
    return this.runs.resume(tenantOf(request), parseRunId(id), body);
  }

  @Get(':id/checkpoint')
  @ApiOperation({ operationId: 'getCheckpoint', summary: 'Where a run stands: what it asked, read, failed at, spent, and has still to do.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(200, CheckpointView, 'The run as it stands, for archiving or going on.'))
  @refusals(404)
  checkpoint(@Req() request: FastifyRequest, @Param('id') id: string): Promise<CheckpointView> {
    return this.runs.checkpoint(tenantOf(request), parseRunId(id));
  }

  @Post(':id/fork')
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'A repeat with the same key and body returns the same fork, for 24 hours.' })
  @HttpCode(202)
  @ApiOperation({ operationId: 'forkRun', summary: 'Go on from a turn of a run, as a new run with a budget of its own.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(202, RunView, 'The accepted fork.'))
  @refusals(400, 402, 404, 422)
  fork(@Req() request: FastifyRequest, @Param('id') id: string, @Body({ schema: ForkRunRequest }) body: ForkRunRequest, @Headers('idempotency-key') key?: string): Promise<RunView> {
    return this.runs.fork(tenantOf(request), parseRunId(id), body, key);
  }

  @Get(':id/messages')
  @ApiOperation({ operationId: 'listMessages', summary: 'The conversation of a run.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(200, ListView(MessageView), 'All messages, in order.'))
  @refusals(404)
  messages(@Req() request: FastifyRequest, @Param('id') id: string): Promise<List<MessageView>> {
    return this.runs.messages(tenantOf(request), parseRunId(id));
  }

  @Get(':id/scratchpad')
  @ApiOperation({ operationId: 'getScratchpad', summary: 'The plan and the promoted findings of a run.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(200, ScratchpadView, 'Plan and findings.'))
  @refusals(404)
  scratchpad(@Req() request: FastifyRequest, @Param('id') id: string): Promise<ScratchpadView> {
    return this.runs.scratchpad(tenantOf(request), parseRunId(id));
  }

  @Get(':id/sources')
  @ApiOperation({ operationId: 'listSources', summary: 'What a run has read, and what its report quotes of it.' })
  @ApiParam(runIdParameter)
  @ApiResponse(answers(200, ListView(SourceView), 'All sources, in order of reading.'))
  @refusals(404)
  sources(@Req() request: FastifyRequest, @Param('id') id: string): Promise<List<SourceView>> {
    return this.runs.sources(tenantOf(request), parseRunId(id));
  }
}
