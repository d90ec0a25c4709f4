import { InfoView } from '#contracts';
import { Controller, Get, Inject } from '@nestjs/common';
import { ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { answers, refusals } from '../http/openapi.ts';

export const INFO = Symbol('info');

@ApiTags('info')
@ApiBearerAuth()
@refusals(401)
@Controller('v1/info')
export class InfoController {
  constructor(@Inject(INFO) private readonly about: InfoView) {}

  @Get()
  @ApiOperation({ operationId: 'getInfo', summary: 'Version, model and sources of this installation.' })
  @ApiResponse(answers(200, InfoView, 'What this installation is.'))
  info(): InfoView {
    return this.about;
  }
}
