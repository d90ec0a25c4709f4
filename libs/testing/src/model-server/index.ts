export { startModelServer, type ModelServer, type ModelServerOptions } from './server.ts';
export { spawnModelServer, type ModelServerStats, type SeenPrompt, type SpawnedModelServer } from './spawn-model-server.ts';
export { SCRIPTS } from './scripts/index.ts';
export { randomSource } from './words.ts';
export { protocolProblem } from './protocol.ts';
export { countCalls, numberParameter, pageUrl, taskNumber } from './script.ts';
export type { Fault, ModelScript, ScriptedAnswer, ScriptedCall, ScriptRequest } from './script.ts';
export type { LoggedRequest } from './request-log.ts';
export type { RoleRecord, RunRecord } from './run-records.ts';
