import type { InfoView } from '#contracts';
import { EventRepository, SpendRepository } from '#database';
import { Module, type DynamicModule } from '@nestjs/common';
import { EstimatesController } from './estimates/estimates.controller.ts';
import { EstimatesService } from './estimates/estimates.service.ts';
import { EventHub } from './events/event-hub.ts';
import { EventsController } from './events/events.controller.ts';
import { HealthController, READINESS_CHECKS, type ReadinessChecks } from './health/health.controller.ts';
import { INFO, InfoController } from './info/info.controller.ts';
import { SpendController } from './spend/spend.controller.ts';
import { RunsController } from './runs/runs.controller.ts';
import { RunsService } from './runs/runs.service.ts';

/** What the controllers work with, ready made: the module only hands it to them. */
export interface GatewayParts {
  runs: RunsService;
  hub: EventHub;
  events: EventRepository;
  estimates: EstimatesService;
  spend: SpendRepository;
  checks: ReadinessChecks;
  info: InfoView;
}

@Module({})
export class GatewayModule {
  static of(parts: GatewayParts): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [RunsController, EstimatesController, SpendController, EventsController, InfoController, HealthController],
      providers: [
        { provide: RunsService, useValue: parts.runs },
        { provide: EventHub, useValue: parts.hub },
        { provide: EstimatesService, useValue: parts.estimates },
        { provide: SpendRepository, useValue: parts.spend },
        { provide: EventRepository, useValue: parts.events },
        { provide: READINESS_CHECKS, useValue: parts.checks },
        { provide: INFO, useValue: parts.info },
      ],
    };
  }
}
