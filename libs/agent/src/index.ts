export * from './dependencies.ts';
export * from './observer.ts';
export { runAgent } from './run-agent.ts';
export * from './replay/replay-tree.ts';
export type { ReplayDifference } from './replay/difference.ts';
