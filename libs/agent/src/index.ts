export * from './dependencies.ts';
export { runAgent } from './run-agent.ts';
