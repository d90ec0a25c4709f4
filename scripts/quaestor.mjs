#!/usr/bin/env node
// The `quaestor` command: builds when needed, then runs the command line on the pinned Node.
import { fileURLToPath } from 'node:url';

process.argv[1] = fileURLToPath(new URL('./run.mjs', import.meta.url));
process.argv.splice(2, 0, 'cli');
await import('./run.mjs');
