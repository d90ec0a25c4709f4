export * from './ports/language-model.ts';
export * from './ports/web.ts';
export * from './ports/tool.ts';
export * from './ports/clock.ts';
export * from './ids/mint.ts';
