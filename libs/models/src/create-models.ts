import { QuaestorError } from '#contracts';
import type { LanguageModel, ModelChoice, ModelRoster } from '#domain';
import type { ModelConfig } from './config.ts';
import type { ModelSpec } from './model-spec.ts';
import { priceOf } from './price.ts';
import { MODEL_PROVIDERS } from './providers/index.ts';

const EXTRACTIVE = 'extractive';

/** Makes the models of one configuration; those at one address with one key share their connections. */
class ModelMaker {
  readonly #config: ModelConfig;
  readonly #models = new Map<string, LanguageModel>();
  readonly #decorate: (model: LanguageModel, key: string | undefined) => LanguageModel;

  constructor(config: ModelConfig, decorate: (model: LanguageModel, key: string | undefined) => LanguageModel) {
    this.#config = config;
    this.#decorate = decorate;
  }

  first(): ModelChoice {
    const { MODEL_NAME: name } = this.#config;
    const providerId = this.#providerId();
    if (providerId !== EXTRACTIVE && name === undefined) throw new QuaestorError('CONFIG_INVALID', `MODEL_NAME is not set; the model provider ${providerId} needs the name of a model.`);
    return this.#choice(providerId, name ?? EXTRACTIVE, this.#config, this.#config.MODEL_PRICE);
  }

  /** A model that a setting names. */
  more(spec: ModelSpec): ModelChoice {
    const config = this.#config;
    const isSameAddress = spec.baseUrl === undefined || spec.baseUrl === config.MODEL_BASE_URL;
    const providerId = spec.provider ?? this.#providerId();
    const settings = { ...config, MODEL_BASE_URL: spec.baseUrl ?? config.MODEL_BASE_URL, MODEL_API_KEY: spec.apiKey ?? (isSameAddress ? config.MODEL_API_KEY : undefined) };
    return this.#choice(providerId, spec.name, settings, spec.price ?? (spec.name === config.MODEL_NAME ? config.MODEL_PRICE : undefined));
  }

  #providerId(): string {
    return this.#config.MODEL_PROVIDER ?? (this.#config.MODEL_BASE_URL === undefined ? EXTRACTIVE : 'openai-compatible');
  }

  /** The extractive model has one name and no price, whatever name a left-over setting holds. */
  #choice(providerId: string, name: string, config: ModelConfig, price: ModelConfig['MODEL_PRICE']): ModelChoice {
    const modelName = providerId === EXTRACTIVE ? EXTRACTIVE : name;
    return { model: this.#model(providerId, config), modelName, price: priceOf(modelName, { ...config, MODEL_PRICE: price }), maxOutputTokens: config.MODEL_MAX_OUTPUT_TOKENS };
  }

  #model(providerId: string, config: ModelConfig): LanguageModel {
    const identity = JSON.stringify([providerId, config.MODEL_BASE_URL, config.MODEL_API_KEY]);
    let model = this.#models.get(identity);
    if (model === undefined) this.#models.set(identity, (model = this.#create(providerId, config)));
    return model;
  }

  #create(providerId: string, config: ModelConfig): LanguageModel {
    const provider = MODEL_PROVIDERS.find(({ id }) => id === providerId);
    if (provider === undefined) throw new QuaestorError('CONFIG_INVALID', `MODEL_PROVIDER is "${providerId}"; this build has ${MODEL_PROVIDERS.map(({ id }) => id).join(', ')}.`);
    const parsed = provider.config.safeParse(config);
    if (!parsed.success) {
      const keys = parsed.error.issues.map((issue) => issue.path.join('.'));
      throw new QuaestorError('CONFIG_INVALID', `The model provider ${providerId} needs ${keys.join(', ')}.`);
    }
    return this.#decorate(provider.create(parsed.data as never), config.MODEL_API_KEY);
  }
}

/**
 * The models that the settings ask for, by role, with their fallbacks. Sends nothing. Throws `CONFIG_INVALID` naming the setting when a
 * vendor lacks one. `decorate` may wrap each model; it gets the key that the model calls with.
 */
export function createModels(config: ModelConfig, decorate: (model: LanguageModel, key: string | undefined) => LanguageModel = (model) => model): ModelRoster {
  const maker = new ModelMaker(config, decorate);
  const first = maker.first();
  const fallbacks = (config.MODEL_FALLBACKS ?? []).map((spec) => maker.more(spec));
  const listed = (spec: ModelSpec | undefined): [ModelChoice, ...ModelChoice[]] => [spec === undefined ? first : maker.more(spec), ...fallbacks];
  return {
    supervisor: listed(config.SUPERVISOR_MODEL),
    worker: listed(config.WORKER_MODEL),
    synthesis: listed(config.SYNTHESIS_MODEL ?? config.SUPERVISOR_MODEL),
  };
}
