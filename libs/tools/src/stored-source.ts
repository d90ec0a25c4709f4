import { QuaestorError } from '#contracts';
import { oneLine, truncateChars, type Source, type ToolCaller, type ToolPorts } from '#domain';

const SHOWN_CHARS = 120;

/** The stored snapshot of a page this run has read. Throws `URL_REFUSED`, or `PAGE_NOT_LOADED` when the run never read it. */
export async function storedSource(url: string, caller: ToolCaller, ports: ToolPorts): Promise<Source> {
  const canonicalUrl = ports.pages.canonicalUrl(url);
  const source = await ports.sources.findByUrl(caller.rootRunId, canonicalUrl);
  if (source !== null) return source;
  throw new QuaestorError('PAGE_NOT_LOADED', `${canonicalUrl} is not loaded in this run: call read_web_page with this url first.`);
}

/** A model-written text as a short part of a public sentence. */
export const shown = (text: string): string => truncateChars(oneLine(text), SHOWN_CHARS);
