import { z } from 'zod';
import { modelConfig } from '#models';
import { runtimeConfig } from '#runtime';
import { webConfig } from '#web';

export const workerConfig = z.object({ ...runtimeConfig.shape, ...modelConfig.shape, ...webConfig.shape });
export type WorkerConfig = z.infer<typeof workerConfig>;
