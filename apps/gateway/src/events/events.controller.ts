import { isTerminal, type ApiKeyId, type RunId } from '#contracts';
import { EventRepository, type EventPosition } from '#database';
import { Controller, Get, Headers, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiOperation, ApiParam, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ownerOf } from '../auth/authentication.ts';
import { refusals } from '../http/openapi.ts';
import { noSuchRun, parseRunId } from '../runs/runs.service.ts';
import { EventHub } from './event-hub.ts';
import { endedFrame, gapFrame, OPENING_FRAME } from './frames.ts';
import { lastSeenSeq } from './last-event-id.ts';
import { SseWriter } from './sse-writer.ts';

@ApiTags('events')
@ApiBearerAuth()
@refusals(401, 503)
@Controller('v1/runs')
export class EventsController {
  constructor(
    @Inject(EventHub) private readonly hub: EventHub,
    @Inject(EventRepository) private readonly events: EventRepository,
  ) {}

  @Get(':id/events')
  @ApiOperation({ operationId: 'followEvents', summary: 'Events of a run, from any position: server-sent events, each with its number as id.' })
  @ApiParam({ name: 'id', description: 'Id of the run, `run_...`.', schema: { type: 'string' } })
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'The last id that was seen; exactly the rest follows, or a gap event first. `RUN_ID:ID` is refused for any other run.' })
  @ApiQuery({ name: 'after', required: false, description: 'The same as Last-Event-ID, for clients that cannot set it.', schema: { type: 'string' } })
  @ApiResponse({ status: 200, description: 'An event stream that ends with the run.', content: { 'text/event-stream': { schema: { type: 'string' } } } })
  @refusals(400, 404)
  async follow(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
    @Headers('last-event-id') lastEventId?: string,
    @Query('after') after?: string,
  ): Promise<void> {
    const { tenantId, apiKeyId } = ownerOf(request);
    const runId = parseRunId(id);
    const position = await this.events.findPosition(tenantId, runId);
    if (!position) throw noSuchRun();
    const seen = lastSeenSeq(runId, lastEventId, after);
    reply.hijack();
    const writer = new SseWriter(reply.raw);
    writer.open({ 'x-request-id': request.id }, OPENING_FRAME);
    this.start({ writer, runId, apiKeyId }, position, seen);
  }

  private start({ writer, runId, apiKeyId }: { writer: SseWriter; runId: RunId; apiKeyId: ApiKeyId }, position: EventPosition, seen: number): void {
    if (seen === position.newest && isTerminal(position.status)) {
      writer.end(endedFrame(runId, position));
      return;
    }
    const isAhead = seen > position.newest;
    if (isAhead) writer.write(gapFrame(runId, seen, position.newest, new Date()));
    this.hub.add(runId, { writer, apiKeyId, isLive: false, after: isAhead ? position.newest - 1 : seen });
  }
}
