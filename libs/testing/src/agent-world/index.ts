export { AgentWorld, type AgentRunShape, type DependencyOverrides, type PlayedDependencies } from './agent-world.ts';
export { FixturePages, pageAddress } from './fixture-pages.ts';
export { promptProblem } from './prompt-problem.ts';
export { aborted, ScriptedModel, type ModelAnswer, type ModelCall, type ModelScript as InProcessScript, type WantedCall } from './scripted-model.ts';
