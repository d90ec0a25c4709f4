/** A JSON object whose members are still unknown. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value when it is a string, else an empty string: servers send null, or leave a member out, where they mean nothing. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
