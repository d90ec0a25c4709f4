import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { runtimeConfig } from '#runtime';
import { z } from 'zod';
import { cliConfig } from '../config.ts';

const WITH_OWN_CONFIG = ['gateway', 'supervisor', 'worker'] as const;

/**
 * The configuration schema of each service and of the command line, by name. Loads the `config` modules and starts nothing.
 * @param root folder that holds `apps/`: the project with `.ts` modules, or its build with `.js` ones.
 */
export async function loadServiceSchemas(root: string, extension: 'ts' | 'js'): Promise<Record<string, z.ZodObject>> {
  const schemas: Record<string, z.ZodObject> = {};
  for (const service of WITH_OWN_CONFIG) {
    const file = path.join(root, 'apps', service, 'src', `config.${extension}`);
    schemas[service] = schemaOf((await import(pathToFileURL(file).href)) as Record<string, unknown>, `${service}Config`);
  }
  return { ...schemas, scratchpad: runtimeConfig, cli: cliConfig };
}

function schemaOf(module: Record<string, unknown>, name: string): z.ZodObject {
  const schema = module[name];
  if (schema instanceof z.ZodObject) return schema;
  throw new Error(`a config module exports no schema ${name}`);
}
