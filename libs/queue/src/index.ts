export * from './connection.ts';
export * from './names.ts';
export * from './job-sender.ts';
export * from './processor.ts';
export * from './completions.ts';
export * from './wait-for-call.ts';
export * from './notifier.ts';
export * from './dashboard.ts';
