import type { ModelScript } from '../script.ts';
import { alwaysTools } from './always-tools.ts';
import { bench } from './bench.ts';
import { context } from './context.ts';
import { flaky } from './flaky.ts';
import { happy } from './happy.ts';
import { sevenEvidence } from './seven-evidence.ts';
import { stalled } from './stalled.ts';
import { stopReason } from './stop-reason.ts';
import { workerFailure } from './worker-failure.ts';

/** Every script the server can play. A new one is a file beside this and a line here. */
export const SCRIPTS: readonly ModelScript[] = [bench, context, happy, sevenEvidence, workerFailure, stopReason, alwaysTools, flaky, stalled];
