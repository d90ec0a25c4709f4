import type { SessionVersion } from './session-types.ts';

/** Members an event's data must have and may have; `open` for events whose data this engine only carries. */
export type DataShape = { required: readonly string[]; optional: readonly string[] } | 'open';

const shape = (required: string, optional = ''): DataShape => ({ required: required.split(' ').filter(Boolean), optional: optional.split(' ').filter(Boolean) });

/** Events of both versions. The list is closed: an artifact with any other type is refused. */
const SHARED: Record<string, DataShape> = {
  'turn/start': shape('turn'),
  'turn/end': shape('turn reason'),
  'step/start': shape('turn step'),
  'step/end': shape('turn step'),
  'request/header': shape('header reason', 'startsSeries'),
  'request/context': shape('provider model', 'contextWindow'),
  'model/selection': shape('provider model', 'reasoningEffort'),
  'llm/retry': shape('retryId turn step provider mode policyKey retry delayMs failure', 'maxRetries'),
  'llm/retry-started': shape('retryId turn step retry'),
  'user/message': shape('role id content source'),
  'tool/result': shape('turn step message', 'error meta'),
  'tool/call': shape('turn step callId name arguments'),
  'tool/code-dispatch-start': shape('rootCallId parentCallId subCallId name arguments'),
  'tool/code-dispatch': shape('rootCallId parentCallId subCallId name arguments isError content'),
  'command/run': shape('commandId name source', 'args'),
  'command/done': shape('commandId kind', 'text sourceEventSeq'),
  'compaction/start': shape('compactionId turn', 'sourceCommandId'),
  'compaction/end': shape('compactionId turn', 'sourceCommandId error'),
  'compaction/prune': shape('shadowedRange shadowedSeqs shadowedTokenCount'),
  'compaction/summary': shape('compactionId summary shadowedRange shadowedSeqs shadowedTokenCount provider model', 'sourceCommandId maxTokens usage rawOutput llmStreamCall'),
  'session/title': shape('title messageSeqs source'),
  'session/title-llm-request': shape('titleProvider messageSeqs route system messages maxTokens'),
  'agent/inbox/spliced': shape('target start inserted', 'removedCount outcome'),
  'feedback/record': shape('text'),
  'subagent/descriptor': 'open',
  'subagent/model-selection-policy': 'open',
  'agent-preset/selected': 'open',
  'approval/asked': 'open',
  'approval/decided': 'open',
  'approval/policy': 'open',
  'goal/change': 'open',
  'hook/invoked': 'open',
  'hook/result': 'open',
  'permission/preset': 'open',
  'plan/mode': 'open',
  'sandbox/mode': 'open',
  'schedule/change': 'open',
  'team/member': 'open',
  'team/message/delivered': 'open',
  'team/message/queued': 'open',
  'team/task': 'open',
  'todo/write': 'open',
  'tool-workflow/agent-start': 'open',
  'tool-workflow/agent-end': 'open',
  'tool-workflow/run-start': 'open',
  'tool-workflow/run-end': 'open',
  'web/deepseek-search-llm-request': 'open',
};

const VOCABULARY: Record<SessionVersion, ReadonlyMap<string, DataShape>> = {
  1: new Map(
    Object.entries({
      ...SHARED,
      'assistant/chunk': shape('turn step chunk'),
      'assistant/message': shape('turn step message', 'usage interrupted'),
      'session/end-seed': shape(''),
      'session-log-deepseek/delivery-accepted': shape('sessionId throughSeq'),
    }),
  ),
  2: new Map(
    Object.entries({
      ...SHARED,
      'assistant/message': shape('turn step message stream', 'usage interrupted'),
      'assistant/attempt': shape('turn step stream'),
      'session/end-seed': shape('', 'inherited'),
      'session-log-deepseek/delivery-accepted': shape('sessionId throughSeq', 'sessionFormatVersion'),
      // rows of this engine that no other vocabulary has a word for; a reader that does not know them may leave them out
      'quaestor/row': shape('table values'),
    }),
  ),
};

export const dataShapeOf = (version: SessionVersion, type: string): DataShape | undefined => VOCABULARY[version].get(type);

/** Events that stand on the surface of a conversation and say how. */
export const SURFACE_TYPES: ReadonlySet<string> = new Set(['user/message', 'assistant/message', 'tool/result']);
