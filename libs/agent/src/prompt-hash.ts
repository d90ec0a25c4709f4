import { hash } from 'node:crypto';
import type { ModelMessage, ModelToolDefinition } from '#contracts';

const digests = new WeakMap<ModelMessage | ModelToolDefinition, string>();

function digestOf(part: ModelMessage | ModelToolDefinition): string {
  let digest = digests.get(part);
  if (digest === undefined) digests.set(part, (digest = hash('sha256', JSON.stringify(part, withoutOwnIds))));
  return digest;
}

const NOT_ASKED: ReadonlySet<string> = new Set(['toolCallId', 'vendor', 'replay']);

const withoutOwnIds = (key: string, value: unknown): unknown => (NOT_ASKED.has(key) ? undefined : value);

/**
 * SHA-256 of what one model call was asked: every message and every tool on offer, in order; lower-case hex. Our own call ids are left out,
 * because a fork or an import mints new ones while its prompts stay the same; so is what only its vendor gets. Each message is hashed once, however many turns it is sent in.
 */
export const promptSha256 = (messages: readonly ModelMessage[], tools: readonly ModelToolDefinition[]): string =>
  hash('sha256', [...messages.map(digestOf), 'tools', ...tools.map(digestOf)].join('\n'));
