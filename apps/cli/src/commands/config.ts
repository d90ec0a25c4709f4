import { renderConfiguration } from '../configuration/markdown.ts';
import { loadServiceSchemas } from '../configuration/service-schemas.ts';
import { listVariables } from '../configuration/variables.ts';
import type { CommandContext } from '../context.ts';
import { BUILD_ROOT } from '../project-root.ts';

/** Prints every environment variable as the page `docs/configuration.md`. */
export async function printConfiguration({ terminal }: Pick<CommandContext, 'terminal'>): Promise<number> {
  const page = renderConfiguration(listVariables(await loadServiceSchemas(BUILD_ROOT, 'js')));
  await terminal.print(page.trimEnd());
  return 0;
}
