import type { DocumentIndex, ToolCaller, ToolPorts } from '#domain';
import type { ParentPorts } from './messages.ts';

/** The rows of one caller, and of nobody else: ids of tenant, run and thread come from here, never from the child. */
export const parentPortsOf = (caller: ToolCaller, ports: ToolPorts, documents: DocumentIndex, signal: AbortSignal): ParentPorts => ({
  findSource: (canonicalUrl) => ports.sources.findByUrl(caller.rootRunId, canonicalUrl),
  getSource: (sourceId) => ports.sources.get(caller.rootRunId, sourceId),
  sourceHeads: () => ports.sources.heads(caller.rootRunId),
  readScratchpad: () => ports.scratchpad.read(caller.tenantId, caller.scratchpadThreadId),
  writeScratchpad: () => ports.writeScratchpad(caller, signal),
  documentStatistics: (collection, terms) => documents.statistics(collection, terms),
  readDocument: (collection, path) => documents.read(collection, path),
});
