export { startStack, type Stack, type StackOptions } from './start-stack.ts';
export { keyFiles } from './keys.ts';
export type { ServiceName } from './service-process.ts';
