import type { AssistantId, TenantId } from '#contracts';
import type { ShippedAssistant, TenantSetup } from '#database';
import { mintId } from '#domain';
import { randomBytes } from 'node:crypto';
import type { GatewayConfig } from '../config.ts';
import { sha256Hex, shownPrefix } from './api-key.ts';

/** Fixed, so that processes that start at the same time make one tenant and not two. */
export const DEFAULT_TENANT_ID = `ten_${'0'.repeat(26)}` as TenantId;

type TurnLimits = Pick<GatewayConfig, 'RESEARCH_SUPERVISOR_MAX_TURNS' | 'RESEARCH_WORKER_MAX_TURNS'>;

/** The two assistants every tenant starts with. Their instructions are empty: the role's own prompt is used. */
export function shippedAssistants(limits: TurnLimits): ShippedAssistant[] {
  return [
    {
      id: mintId<AssistantId>('asst', randomBytes(17)),
      role: 'supervisor',
      name: 'supervisor',
      instructions: '',
      capabilities: ['scratchpad', 'delegation'],
      turnsMax: limits.RESEARCH_SUPERVISOR_MAX_TURNS,
    },
    {
      id: mintId<AssistantId>('asst', randomBytes(17)),
      role: 'worker',
      name: 'worker',
      instructions: '',
      capabilities: ['web_search', 'scratchpad'],
      turnsMax: limits.RESEARCH_WORKER_MAX_TURNS,
    },
  ];
}

/** What must exist before the first request: the default tenant, its assistants, and the key that the configuration names. */
export function defaultTenant(config: TurnLimits & Pick<GatewayConfig, 'BOOTSTRAP_API_KEY'>): TenantSetup {
  const key = config.BOOTSTRAP_API_KEY;
  return {
    id: DEFAULT_TENANT_ID,
    name: 'default',
    assistants: shippedAssistants(config),
    ...(key === undefined ? {} : { apiKey: { id: mintId('key', randomBytes(17)), sha256: sha256Hex(key), shownPrefix: shownPrefix(key) } }),
  };
}
