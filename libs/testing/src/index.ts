export * from './agent-world/index.ts';
export * from './model-server/index.ts';
export * from './cpu.ts';
export * from './figures.ts';
export * from './planted.ts';
export * from './spawn-process.ts';
export * from './test-services.ts';
export * from './wait-until.ts';
