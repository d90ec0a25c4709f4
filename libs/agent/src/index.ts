export * from './dependencies.ts';
export * from './observer.ts';
export { runAgent } from './run-agent.ts';
