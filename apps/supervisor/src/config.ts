import { z } from 'zod';
import { modelConfig } from '#models';
import { runtimeConfig } from '#runtime';
import { webConfig } from '#web';

export const supervisorConfig = z.object({ ...runtimeConfig.shape, ...modelConfig.shape, ...webConfig.shape });
export type SupervisorConfig = z.infer<typeof supervisorConfig>;
