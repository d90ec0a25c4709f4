import { z } from 'zod';

/**
 * Identifiers. Each is a prefix, an underscore and 26 characters of `0-9a-v` (130 bits, base 32): safe as a BullMQ job id, as a URL
 * segment and in an `ascii_bin` column. The brands make two ids of different things impossible to swap at compile time.
 */
const id = <const Brand extends string>(prefix: string, brand: Brand) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[0-9a-v]{26}$`), `must be an id that starts with ${prefix}_`)
    .brand(brand);

export const TenantId = id('ten', 'TenantId');
export type TenantId = z.infer<typeof TenantId>;

export const ApiKeyId = id('key', 'ApiKeyId');
export type ApiKeyId = z.infer<typeof ApiKeyId>;

export const AssistantId = id('asst', 'AssistantId');
export type AssistantId = z.infer<typeof AssistantId>;

export const RunId = id('run', 'RunId');
export type RunId = z.infer<typeof RunId>;

/** The thread that holds a run's own conversation: where its tool results go. */
export const ConversationThreadId = id('thr', 'ConversationThreadId');
export type ConversationThreadId = z.infer<typeof ConversationThreadId>;

/** The root run's thread seen as the owner of the shared scratchpad: where notes go. Never interchangeable with the one above. */
export const ScratchpadThreadId = id('thr', 'ScratchpadThreadId');
export type ScratchpadThreadId = z.infer<typeof ScratchpadThreadId>;

export const AttemptId = id('att', 'AttemptId');
export type AttemptId = z.infer<typeof AttemptId>;

/** Ours, derived from (attempt, call index); the provider's own call id is stored beside it and never used as identity. */
export const ToolCallId = id('call', 'ToolCallId');
export type ToolCallId = z.infer<typeof ToolCallId>;

export const SourceId = id('src', 'SourceId');
export type SourceId = z.infer<typeof SourceId>;

export const ReservationId = id('res', 'ReservationId');
export type ReservationId = z.infer<typeof ReservationId>;

/** A `sequence_no`: BIGINT UNSIGNED as a decimal string, because a `number` loses digits above 2^53. Compare with `BigInt`. */
export const SequenceNo = z.string().regex(/^\d{1,20}$/).brand('SequenceNo');
export type SequenceNo = z.infer<typeof SequenceNo>;
