import { leaveTestServices } from './test-services.ts';

/** Starts nothing: a suite without a database needs no services. What a spec did start is stopped after the last one. */
export const teardown = (): Promise<void> => leaveTestServices();
