export * from './config.ts';
export * from './runtime.ts';
export * from './lease-keeper.ts';
export * from './open-leases.ts';
export * from './advance-run.ts';
export * from './agent-dependencies.ts';
export * from './start-service.ts';
