import { QuaestorError } from '#contracts';
import type { LanguageModel, ModelPrice } from '#domain';
import type { ModelConfig } from './config.ts';
import { priceOf } from './price.ts';
import { MODEL_PROVIDERS } from './providers/index.ts';

const EXTRACTIVE = 'extractive';

export interface ConfiguredModel {
  model: LanguageModel;
  /** Goes into each request. */
  modelName: string;
  price: ModelPrice;
  /** Upper bound for one answer, in tokens. */
  maxOutputTokens: number;
}

/** The extractive model has one name and no price, whatever name a left-over setting holds. */
const resolveName = (providerId: string, name: string | undefined): string => {
  if (providerId === EXTRACTIVE) return EXTRACTIVE;
  if (name !== undefined) return name;
  throw new QuaestorError('CONFIG_INVALID', `MODEL_NAME is not set; the model provider ${providerId} needs the name of a model.`);
};

/**
 * The model that the settings ask for. Sends nothing. Throws `CONFIG_INVALID` naming the setting when a vendor lacks one.
 */
export function createLanguageModel(config: ModelConfig): ConfiguredModel {
  const providerId = config.MODEL_PROVIDER ?? (config.MODEL_BASE_URL === undefined ? EXTRACTIVE : 'openai-compatible');
  const provider = MODEL_PROVIDERS.find(({ id }) => id === providerId);
  if (provider === undefined) throw new QuaestorError('CONFIG_INVALID', `MODEL_PROVIDER is "${providerId}"; this build has ${MODEL_PROVIDERS.map(({ id }) => id).join(', ')}.`);
  const parsed = provider.config.safeParse(config);
  if (!parsed.success) {
    const keys = parsed.error.issues.map((issue) => issue.path.join('.'));
    throw new QuaestorError('CONFIG_INVALID', `The model provider ${providerId} needs ${keys.join(', ')}.`);
  }
  const modelName = resolveName(providerId, config.MODEL_NAME);
  return { model: provider.create(parsed.data as never), modelName, price: priceOf(modelName, config), maxOutputTokens: config.MODEL_MAX_OUTPUT_TOKENS };
}
