import type { InfoView } from '#contracts';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { GatewayConfig } from '../config.ts';

/** The version in the nearest `package.json` above this file, compiled or not. */
export function readVersion(): string {
  for (let folder = import.meta.dirname; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const file = path.join(folder, 'package.json');
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  throw new Error('there is no package.json above the gateway');
}

export const describeInstallation = (config: GatewayConfig, version: string): InfoView => ({
  object: 'info',
  version,
  model: config.MODEL_NAME,
  search_provider: config.SEARCH_PROVIDER ?? (config.SEARXNG_URL === undefined ? 'local' : 'searxng'),
  docs_folder: config.DOCS_DIR === undefined ? null : path.basename(path.resolve(config.DOCS_DIR)),
});
