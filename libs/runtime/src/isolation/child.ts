import { QuaestorError } from '#contracts';
import { withHostPolicy, type DocumentIndex, type ToolPorts, type ToolSpec } from '#domain';
import { createWeb } from '#web';
import type { ChildTask, ErrorWords, MessageToChild, MessageToParent, ParentPorts } from './messages.ts';

/*
 * Entry of the process of one suspected call. It reaches the web itself, because fetching and reading are what may kill it, and asks its
 * parent for rows: it has no database, no queue and no keys of its own. Run from source too, hence nothing here needs compiling.
 */
const { PLATFORM_TOOLS } = (await import(process.argv[2] ?? '')) as { PLATFORM_TOOLS: readonly ToolSpec[] };

interface Asked {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const asked = new Map<number, Asked>();
let questions = 0;

function tell(message: MessageToParent): void {
  process.send?.(message);
}

const ask = (port: keyof ParentPorts, args: unknown[]): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const id = ++questions;
    asked.set(id, { resolve, reject });
    tell({ kind: 'question', id, port, args });
  });

/** Every port as a question to the parent. */
const parent = new Proxy({} as ParentPorts, { get: (_target, port) => (...args: unknown[]) => ask(port as keyof ParentPorts, args) });

const elsewhere = (): never => {
  throw new QuaestorError('INTERNAL_ERROR', 'Documents are indexed when a service starts, not by a call.');
};

const documents: DocumentIndex = {
  statistics: (collection, terms) => parent.documentStatistics(collection, terms),
  read: (collection, path) => parent.readDocument(collection, path),
  exclusively: elsewhere,
  fingerprints: elsewhere,
  put: elsewhere,
  remove: elsewhere,
};

async function carryOut({ tool, args, caller, web, pageChars }: ChildTask): Promise<void> {
  const spec = PLATFORM_TOOLS.find(({ name }) => name === tool);
  if (!spec) throw new QuaestorError('TOOL_UNKNOWN', `There is no tool ${tool}.`);
  const { search, pages } = await createWeb(web, { documents });
  const ports: ToolPorts = withHostPolicy({
    search,
    pages,
    sources: {
      findByUrl: (_rootRunId, canonicalUrl) => parent.findSource(canonicalUrl),
      get: (_rootRunId, sourceId) => parent.getSource(sourceId),
      heads: () => parent.sourceHeads(),
    },
    scratchpad: { read: () => parent.readScratchpad() },
    writeScratchpad: () => parent.writeScratchpad(),
    pageChars,
  }, caller.hostPolicy);
  // stopped by its end: whoever gives up on this call ends its process
  const outcome = await spec.execute(args, caller, ports, new AbortController().signal);
  if (outcome.kind === 'deferred') throw new QuaestorError('INTERNAL_ERROR', 'A deferred call cannot be executed here.');
  tell({ kind: 'outcome', outcome });
}

const wordsOf = (error: unknown): ErrorWords =>
  error instanceof QuaestorError ? { code: error.code, message: error.message } : { code: null, message: error instanceof Error ? error.name : 'unknown error' };

process.on('message', (message: MessageToChild) => {
  if (message.kind === 'task') {
    carryOut(message.task).catch((error: unknown) => tell({ kind: 'failure', error: wordsOf(error) }));
    return;
  }
  const waiting = asked.get(message.id);
  asked.delete(message.id);
  if (message.kind === 'answer') waiting?.resolve(message.value);
  else waiting?.reject(new QuaestorError(message.error.code ?? 'INTERNAL_ERROR', message.error.message));
});
process.on('disconnect', () => process.exit(0));
tell({ kind: 'ready' });
