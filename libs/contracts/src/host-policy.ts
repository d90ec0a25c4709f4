import { z } from 'zod';

export const HOSTS_MAX = 100;

/**
 * A host as a request names it: `example.org`, `example.org:8443`, `[2001:db8::1]`, or `http://intranet.example` where encryption is not
 * asked for. Names are exact: a subdomain is another host.
 */
export const HostEntry = z
  .string()
  .max(300)
  .transform((text, context) => {
    const entry = normalHost(text);
    if (entry !== null) return entry;
    context.addIssue({ code: 'custom', message: `"${text.slice(0, 80)}" is not a host such as example.org or example.org:8443` });
    return z.NEVER;
  });

/** Lower case, ASCII, without a trailing dot; null when it is anything but a host. */
function normalHost(text: string): string | null {
  const isPlain = /^http:\/\//i.test(text);
  const rest = text.replace(/^https?:\/\//i, '');
  if (rest === '' || /[/?#@*\\\s%]/.test(rest)) return null;
  try {
    // a scheme without a default port keeps every port that was written
    const url = new URL(`${isPlain ? 'http' : 'https'}://${rest}`);
    const host = url.hostname.replace(/\.$/, '');
    if (host === '' || host.endsWith('.')) return null;
    const port = /:(\d+)$/.exec(rest)?.[1];
    return `${isPlain ? 'http://' : ''}${host}${port === undefined ? '' : `:${Number(port)}`}`;
  } catch {
    return null;
  }
}

/** Which hosts the pages of a run may come from. `allowed` null is any public host; a denied host is denied with all its ports, unless it names one. */
export const HostPolicy = z.object({ allowed: z.array(z.string()).nullable(), denied: z.array(z.string()) });
export type HostPolicy = z.infer<typeof HostPolicy>;
