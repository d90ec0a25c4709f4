import type { dashboardQueues } from '#queue';
import { createBullBoard } from '@bull-board/api';
import { FastifyAdapter as DashboardAdapter } from '@bull-board/fastify';
import type { FastifyInstance } from 'fastify';
import { createHash, timingSafeEqual } from 'node:crypto';

const PATH = '/admin/queues';
const BASIC = /^Basic +([A-Za-z0-9+/=]+)$/i;
const BEARER = /^Bearer +(\S+)$/i;

/** The secret of a header: a bearer token, or the password that a browser asks for. */
function presentedKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  const bearer = BEARER.exec(header)?.[1];
  if (bearer !== undefined) return bearer;
  const basic = BASIC.exec(header)?.[1];
  if (basic === undefined) return null;
  const credentials = Buffer.from(basic, 'base64').toString('utf8');
  return credentials.slice(credentials.indexOf(':') + 1);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares digests, which have one length, so that neither content nor length shows in the time it takes. */
const isAdmin = (header: string | undefined, adminKey: string): boolean => {
  const key = presentedKey(header);
  return key !== null && timingSafeEqual(digest(key), digest(adminKey));
};

/** The read-only queue page at `/admin/queues`, for holders of the admin key only. API keys do not open it. */
export async function serveQueueDashboard(fastify: FastifyInstance, queues: ReturnType<typeof dashboardQueues>, adminKey: string): Promise<void> {
  const dashboard = new DashboardAdapter();
  createBullBoard({ queues, serverAdapter: dashboard, options: { uiConfig: { boardTitle: 'Quaestor queues' } } });
  dashboard.setBasePath(PATH);
  await fastify.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      if (isAdmin(request.headers.authorization, adminKey)) return;
      return reply.status(401).header('www-authenticate', 'Basic realm="Quaestor queues", charset="UTF-8"').send(unauthorized(request.id));
    });
    await scope.register(dashboard.registerPlugin(), { prefix: PATH });
  });
}

const unauthorized = (requestId: string) => ({
  error: { code: 'UNAUTHORIZED', message: 'The admin key is needed: send it as bearer token, or as password.', param: null, request_id: requestId },
});
