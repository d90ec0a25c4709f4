export { modelConfig, type ModelConfig } from './config.ts';
export { createModels } from './create-models.ts';
export { describeModel, type ModelQuirks } from './catalog.ts';
export { priceOf } from './price.ts';
export { MODEL_PROVIDERS } from './providers/index.ts';
export { StreamedModel, type StreamedModelOptions } from './wire/streamed-model.ts';
export type { ModelProvider } from './providers/provider.ts';
export { openModelStream } from './open-model-stream.ts';
export type { ModelStream } from './wire/model-stream.ts';
