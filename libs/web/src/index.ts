export { webConfig, type WebConfig } from './config.ts';
export { createWeb, type Web, type WebDependencies } from './web.ts';
export type { IndexReport } from './documents/folder.ts';
export type { ResolveHost } from './fetch/guarded-connector.ts';
