import type { ReasoningField } from '#contracts';
import type { ModelPrice } from '#domain';
import type { TextForm } from './text-forms/text-forms.ts';

/** What a model or its server wants differently. */
export interface ModelQuirks {
  /** Name of the member that bounds the answer. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /**
   * Set where every assistant message must carry its reasoning in this field, or the server answers 400; a message that has none gets a
   * single space, because an empty text is refused too. Undefined: reasoning goes back in the field it came in, and only where there is any.
   */
  reasoningRequiredIn?: ReasoningField;
  /** True where the vendor hands its reasoning out encrypted and wants it back with the history. */
  encryptedReasoning: boolean;
  /** How the model is asked to think where `MODEL_THINKING` is on: with a bound in tokens, as it sees fit, or not at all. */
  thinking: 'budget' | 'adaptive' | 'none';
  /** Forms in which the model writes calls or reasoning into its text, where its server does not read them out. */
  textForms: readonly TextForm[];
}

interface CatalogRow {
  /** Tested against the model name, which may have a vendor prefix such as `moonshotai/`. The first matching row wins. */
  pattern: RegExp;
  price?: ModelPrice;
  quirks?: Partial<ModelQuirks>;
}

const DEFAULT_QUIRKS: ModelQuirks = { maxTokensField: 'max_tokens', encryptedReasoning: false, thinking: 'none', textForms: [] };

const FREE: ModelPrice = { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 };

/** A new model that needs a price or a quirk is one row here. */
const MODEL_CATALOG: readonly CatalogRow[] = [
  { pattern: /^extractive$/, price: FREE },
  { pattern: /(^|\/)(o\d|gpt-5)/, quirks: { maxTokensField: 'max_completion_tokens', encryptedReasoning: true } },
  { pattern: /(^|[/.])claude-(3[-.]5|3-(opus|sonnet|haiku)|2|instant)/ },
  { pattern: /(^|[/.])claude-(3[-.]7|(opus|sonnet|haiku)-4([-.][015])?($|[-@:]\d{8}|-latest))/, quirks: { thinking: 'budget' } },
  { pattern: /(^|[/.])claude/, quirks: { thinking: 'adaptive' } },
  { pattern: /(^|\/)kimi-k2/i, quirks: { reasoningRequiredIn: 'reasoning_content', textForms: ['think', 'kimi'] } },
  { pattern: /(^|\/)deepseek-(v4|reasoner)/i, quirks: { reasoningRequiredIn: 'reasoning_content', textForms: ['think', 'deepseek'] } },
  { pattern: /(^|\/)deepseek/i, quirks: { textForms: ['think', 'deepseek'] } },
  { pattern: /(^|\/)qw(en|q)/i, quirks: { textForms: ['think', 'qwen'] } },
  { pattern: /(^|\/)(hermes|nous-hermes)/i, quirks: { textForms: ['think', 'hermes'] } },
  { pattern: /(^|\/)gpt-oss/i, quirks: { textForms: ['harmony'] } },
  { pattern: /(^|\/)(gemma|llama-?3|phi-?4)/i, quirks: { textForms: ['fenced', 'naked'] } },
];

/** Price and quirks of a model; no price where the catalogue has none for it, and default quirks. */
export function describeModel(modelName: string): { price: ModelPrice | undefined; quirks: ModelQuirks } {
  const row = MODEL_CATALOG.find(({ pattern }) => pattern.test(modelName));
  return { price: row?.price, quirks: { ...DEFAULT_QUIRKS, ...row?.quirks } };
}
