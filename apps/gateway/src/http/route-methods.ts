/** Which methods an address knows: tells 405 from 404. Fed by Fastify's `onRoute` hook. */
export class RouteMethods {
  readonly #routes: { pattern: RegExp; method: string }[] = [];

  add(url: string, methods: string | string[]): void {
    if (url.includes('*')) return;
    const pattern = new RegExp(`^${url.split('/').map(toPattern).join('/')}/?$`);
    for (const method of [methods].flat()) this.#routes.push({ pattern, method });
  }

  allowed(requestUrl: string): string[] {
    const path = requestUrl.split('?', 1)[0] ?? '';
    return [...new Set(this.#routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))].sort();
  }
}

const toPattern = (segment: string): string => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
