import type { ProviderFailures } from './errors.ts';

/** A JSON object whose members are still unknown. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value when it is a string, else an empty string: servers send null, or leave a member out, where they mean nothing. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The object that an event holds; throws `MODEL_PROTOCOL_ERROR` for anything else. */
export function parseEvent(data: string, failures: ProviderFailures): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw failures.protocol('sent an event that is not JSON', data);
  }
  if (!isJsonObject(value)) throw failures.protocol('sent an event that is not a JSON object', data);
  return value;
}
