import type { ModelRequest } from '#domain';
import type { ReaderOptions, StreamReader } from './stream-reader.ts';

/** What a request is rendered for. */
export interface RenderOptions {
  /** Name of the asked vendor and model, as `vendorOf` gives it. */
  vendor: string;
  /** True when the server has refused the extras that not all know. */
  plain: boolean;
  /** True when models that can be asked to think are asked to. */
  thinks: boolean;
}

/** How one family of servers is spoken to. Everything else, such as connections, time limits and errors, is the same for all. */
export interface WireProtocol {
  /** Id of the provider. */
  id: string;
  /** Appended to the base address. */
  path: string;
  /** Headers that carry the key, and those that the protocol demands. */
  headers(apiKey: string | undefined): Record<string, string>;
  /** JSON text of a streamed request. */
  render(request: ModelRequest, options: RenderOptions): string;
  /** True when this refusal is about an extra that a plain request leaves out. */
  refusesExtra(status: number, body: string): boolean;
  createReader(options: ReaderOptions): StreamReader;
}
