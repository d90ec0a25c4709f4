import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentDependencies } from '#agent';
import { DocumentIndexRepository, RunJournalRepository, RunViewRepository, ScratchpadReadRepository, SourceRepository } from '#database';
import { createLanguageModel, type ModelConfig } from '#models';
import { Completions, CallWaiter } from '#queue';
import { PLATFORM_TOOLS } from '#tools';
import { createWeb, type Web, type WebConfig } from '#web';
import type { RuntimeConfig } from './config.ts';
import { agentMetrics } from './run-metrics.ts';
import type { Runtime } from './runtime.ts';

export interface AgentWiring {
  deps: AgentDependencies;
  web: Web;
  close(): Promise<void>;
}

/** Fills the loop's ports with the real adapters: journal, model, web, tools, scratchpad. */
export async function wireAgent(runtime: Runtime, config: RuntimeConfig & ModelConfig & WebConfig): Promise<AgentWiring> {
  const { sql } = runtime;
  const web = await createWeb(config, { documents: new DocumentIndexRepository(runtime.dataSource) });
  const scratchpad = new ScratchpadReadRepository(sql);
  const runs = new RunViewRepository(sql, '');
  const completions = await Completions.open('scratchpad', { redisUrl: config.REDIS_URL, prefix: runtime.prefix, onError: (error) => runtime.report('completions', error) });
  const waiter = new CallWaiter(completions, (toolCallId) => scratchpad.resultOf(toolCallId));
  const deps: AgentDependencies = {
    journal: new RunJournalRepository(sql, { owner: runtime.owner, leaseTtlMs: config.LEASE_TTL_MS, randomBytes: runtime.randomBytes }),
    ...createLanguageModel(config),
    promptTokensMax: config.PROMPT_TOKENS_MAX,
    tools: PLATFORM_TOOLS,
    ports: {
      search: web.search,
      pages: web.pages,
      sources: new SourceRepository(sql),
      scratchpad,
      writeScratchpad: (caller, signal) => waiter.wait(caller.toolCallId, signal),
      pageChars: config.PAGE_CHARS,
    },
    send: (jobs) => runtime.sender.send(jobs),
    touched: (rootRunId) => runtime.notifier.touched(rootRunId),
    live: (rootRunId, frame) => runtime.notifier.live(rootRunId, frame),
    limitsMet: (rootRunId) => runs.limitsMet(rootRunId),
    findings: async (tenantId, threadId) => (await scratchpad.read(tenantId, threadId)).entries.filter((entry) => entry.kind === 'finding').map((entry) => entry.text),
    observer: agentMetrics,
    nowMs: () => Date.now(),
    sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }).catch(() => undefined),
    random: () => Math.random(),
    randomBytes: runtime.randomBytes,
  };
  const close = async () => {
    waiter.close();
    await completions.close();
    await web.close();
  };
  return { deps, web, close };
}
