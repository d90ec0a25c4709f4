import { RunId } from '#contracts';
import { modelConfig } from '#models';
import { loadConfig } from '#platform';
import { webConfig } from '#web';
import { RunAdvancer } from '../advance-run.ts';
import { wireAgent } from '../agent-dependencies.ts';
import { runtimeConfig } from '../config.ts';
import { openLeases } from '../open-leases.ts';
import { Runtime } from '../runtime.ts';
import { PLATFORM_TOOLS } from './deadly-tools.ts';

/*
 * One process that advances one run, as a queue processor would, and says how: with the real stores, leases and isolation, and with tools
 * that may kill it. Its run is the first argument.
 */
const config = loadConfig(runtimeConfig.extend({ ...modelConfig.shape, ...webConfig.shape }));
const runtime = await Runtime.open('advance', config);
const { deps, close } = await wireAgent(runtime, config, { tools: PLATFORM_TOOLS, toolsModule: import.meta.url.replace('advance-process', 'deadly-tools') });
const { keeper } = openLeases(runtime);
process.stdout.write('ready\n');
await new RunAdvancer(runtime, deps, keeper).advance(RunId.parse(process.argv[2]), new AbortController().signal);
await keeper.close();
await close();
await runtime.close();
process.stdout.write('done\n');
