export { createClient, type Client, type ListRunsOptions } from './client.ts';
export type { EventsOptions } from './event-stream.ts';
export type { ClientOptions } from './transport.ts';
export { LiveFolder } from './live-folder.ts';
export { foldLiveView, type LiveView } from './live-view.ts';
