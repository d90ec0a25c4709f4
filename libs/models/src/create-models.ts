import { QuaestorError } from '#contracts';
import type { LanguageModel, ModelChoice, ModelPrice, ModelRole, ModelRoster } from '#domain';
import type { ModelConfig } from './config.ts';
import type { ModelSpec } from './model-spec.ts';
import { priceOf } from './price.ts';
import { MODEL_PROVIDERS } from './providers/index.ts';

const EXTRACTIVE = 'extractive';

const providerOf = (config: Pick<ModelConfig, 'MODEL_PROVIDER' | 'MODEL_BASE_URL'>): string => config.MODEL_PROVIDER ?? (config.MODEL_BASE_URL === undefined ? EXTRACTIVE : 'openai-compatible');

/** The price that the settings give this model: its own, or that of MODEL_NAME when it is that model. */
const ownPrice = (spec: ModelSpec, config: Pick<ModelConfig, 'MODEL_NAME' | 'MODEL_PRICE'>): ModelPrice | undefined => spec.price ?? (spec.name === config.MODEL_NAME ? config.MODEL_PRICE : undefined);

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
    const providerId = providerOf(this.#config);
    if (providerId !== EXTRACTIVE && name === undefined) throw new QuaestorError('CONFIG_INVALID', `MODEL_NAME is not set; the model provider ${providerId} needs the name of a model.`);
    return this.#choice(providerId, name ?? EXTRACTIVE, this.#config, this.#config.MODEL_PRICE);
  }

  /** A model that a setting names. */
  more(spec: ModelSpec): ModelChoice {
    const config = this.#config;
    const isSameAddress = spec.baseUrl === undefined || spec.baseUrl === config.MODEL_BASE_URL;
    const providerId = spec.provider ?? providerOf(config);
    const settings = { ...config, MODEL_BASE_URL: spec.baseUrl ?? config.MODEL_BASE_URL, MODEL_API_KEY: spec.apiKey ?? (isSameAddress ? config.MODEL_API_KEY : undefined) };
    return this.#choice(providerId, spec.name, settings, ownPrice(spec, config));
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

/** The settings that decide what models cost. */
export type PriceConfig = Pick<ModelConfig, 'MODEL_PROVIDER' | 'MODEL_BASE_URL' | 'MODEL_NAME' | 'MODEL_PRICE' | 'MODEL_UNKNOWN_PRICE' | 'SUPERVISOR_MODEL' | 'WORKER_MODEL' | 'SYNTHESIS_MODEL'>;

/** What the first model of each role costs, without making one. Throws `CONFIG_INVALID` where an unknown price is refused. */
export function pricesOf(config: PriceConfig): Record<ModelRole, ModelPrice> {
  const first: ModelSpec = { name: config.MODEL_NAME ?? EXTRACTIVE };
  const priceOfSpec = (spec: ModelSpec): ModelPrice => {
    const modelName = (spec.provider ?? providerOf(config)) === EXTRACTIVE ? EXTRACTIVE : spec.name;
    return priceOf(modelName, { ...config, MODEL_PRICE: ownPrice(spec, { MODEL_NAME: first.name, MODEL_PRICE: config.MODEL_PRICE }) });
  };
  const supervisor = config.SUPERVISOR_MODEL ?? first;
  return { supervisor: priceOfSpec(supervisor), worker: priceOfSpec(config.WORKER_MODEL ?? first), synthesis: priceOfSpec(config.SYNTHESIS_MODEL ?? supervisor) };
}
