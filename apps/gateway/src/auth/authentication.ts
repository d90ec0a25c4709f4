import { QuaestorError, type ApiKeyId, type TenantId } from '#contracts';
import type { ApiKeyOwner, ApiKeyRepository } from '#database';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bearerKey, sha256Hex } from './api-key.ts';

/** Everything else needs an API key: a new route is closed until somebody opens it here. Matched on the route, not on the address. */
const OPEN_ROUTES = /^\/(?:healthz|readyz|metrics|openapi\.json|docs(?:\/.*)?|admin\/queues(?:\/.*)?)$/;

/** A key is asked for again after this time, so that a revoked one stops working soon. */
const REMEMBERED_MS = 5_000;
const REMEMBERED_MAX = 1_000;

const owners = new WeakMap<FastifyRequest, ApiKeyOwner>();

/** @throws QuaestorError `UNAUTHORIZED` when the request did not pass authentication. */
export function ownerOf(request: FastifyRequest): ApiKeyOwner {
  const owner = owners.get(request);
  if (!owner) throw unauthorized();
  return owner;
}

export const tenantOf = (request: FastifyRequest): TenantId => ownerOf(request).tenantId;

/** One sentence for a missing, malformed, unknown and revoked key alike. */
const unauthorized = (): QuaestorError => new QuaestorError('UNAUTHORIZED', 'A valid API key is needed: send it as "Authorization: Bearer qk_...".');

/** Checks keys before a body is read, so that strangers cannot make the process hold one. */
export class Authentication {
  readonly #keys: ApiKeyRepository;
  readonly #remembered = new Map<string, { owner: ApiKeyOwner; untilMs: number }>();

  constructor(keys: ApiKeyRepository) {
    this.#keys = keys;
  }

  protect(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', async (request) => {
      const route = request.routeOptions.url;
      if (route === undefined || OPEN_ROUTES.test(route)) return;
      owners.set(request, await this.#authenticate(request.headers.authorization));
    });
  }

  /** Those of the given keys that were revoked meanwhile. */
  findRevoked(apiKeyIds: ApiKeyId[]): Promise<ApiKeyId[]> {
    return this.#keys.findRevoked(apiKeyIds);
  }

  async #authenticate(header: string | undefined): Promise<ApiKeyOwner> {
    const key = bearerKey(header);
    if (key === null) throw unauthorized();
    const hash = sha256Hex(key);
    const remembered = this.#remembered.get(hash);
    if (remembered && remembered.untilMs > Date.now()) return remembered.owner;
    const owner = await this.#keys.findOwner(hash);
    if (!owner) throw unauthorized();
    this.#remember(hash, owner);
    return owner;
  }

  #remember(hash: string, owner: ApiKeyOwner): void {
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear();
    this.#remembered.set(hash, { owner, untilMs: Date.now() + REMEMBERED_MS });
  }
}
