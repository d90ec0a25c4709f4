import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentDependencies } from '#agent';
import { DocumentIndexRepository, OpenWorkRepository, RunJournalRepository, RunViewRepository, ScratchpadReadRepository, SourceRepository } from '#database';
import { promptPolicy, rawPageCharsMax, type ModelPrice, type ToolPorts, type ToolSpec } from '#domain';
import { behindGate, createModels, type ModelConfig } from '#models';
import { Completions, CallWaiter, RedisModelGate } from '#queue';
import { PLATFORM_TOOLS } from '#tools';
import { createWeb, webConfig, type Web, type WebConfig } from '#web';
import type { RuntimeConfig } from './config.ts';
import { IsolatedTools } from './isolation/isolated-tools.ts';
import { agentMetrics } from './run-metrics.ts';
import type { Runtime } from './runtime.ts';

export interface AgentWiring {
  deps: AgentDependencies;
  web: Web;
  close(): Promise<void>;
}

/** The tools of this process, and the module that exports them as `PLATFORM_TOOLS` to the process of a suspected call. */
export interface Toolset {
  tools: readonly ToolSpec[];
  toolsModule: string;
}

const SHIPPED_TOOLS: Toolset = { tools: PLATFORM_TOOLS, toolsModule: '#tools' };

/** Of all settings those of the web: the process of a suspected call gets no address of a store and no key of a model. */
const webSettingsOf = (config: WebConfig): WebConfig =>
  Object.fromEntries(Object.keys(webConfig.shape).map((name) => [name, config[name as keyof WebConfig]])) as WebConfig;

/** As configured, 0 for no bound; else what pays off at the model's price. */
const rawPageCharsOf = ({ PROMPT_PAGE_CHARS_MAX: charsMax, PAGE_CHARS: pageChars }: RuntimeConfig, price: ModelPrice): number =>
  charsMax === undefined ? rawPageCharsMax(price, pageChars) : charsMax || Infinity;

/** Fills the loop's ports with the real adapters: journal, model, web, tools, scratchpad. */
export async function wireAgent(runtime: Runtime, config: RuntimeConfig & ModelConfig & WebConfig, toolset: Toolset = SHIPPED_TOOLS): Promise<AgentWiring> {
  const { sql } = runtime;
  const documents = new DocumentIndexRepository(runtime.dataSource);
  const web = await createWeb(config, { documents });
  const scratchpad = new ScratchpadReadRepository(sql);
  const runs = new RunViewRepository(sql, '');
  const openWork = new OpenWorkRepository(sql);
  const completions = await Completions.open('scratchpad', { redisUrl: config.REDIS_URL, prefix: runtime.prefix, onError: (error) => runtime.report('completions', error) });
  const waiter = new CallWaiter(completions, (toolCallId) => scratchpad.resultOf(toolCallId));
  const ports: ToolPorts = {
    search: web.search,
    pages: web.pages,
    sources: new SourceRepository(sql),
    scratchpad,
    writeScratchpad: (caller, signal) => waiter.wait(caller.toolCallId, signal),
    pageChars: config.PAGE_CHARS,
  };
  const gate = new RedisModelGate({
    redis: runtime.connect('producer'),
    limit: config.MODEL_CONCURRENCY_MAX ?? 0,
    random: Math.random,
    onError: (error) => runtime.report('model gate', error),
  });
  const models = createModels(config, behindGate(gate));
  const deps: AgentDependencies = {
    journal: new RunJournalRepository(sql, { owner: runtime.owner, incarnation: runtime.incarnation, leaseTtlMs: config.LEASE_TTL_MS, randomBytes: runtime.randomBytes }),
    models,
    readTier: config.READ_TIER,
    prompts: promptPolicy({ tokensMax: config.PROMPT_TOKENS_MAX, rawPageChars: rawPageCharsOf(config, models.worker[0].price), summarises: config.PROMPT_SUMMARIES }),
    tools: toolset.tools,
    ports,
    isolation: new IsolatedTools({
      ports,
      documents,
      web: webSettingsOf(config),
      toolsModule: toolset.toolsModule,
      onDeath: ({ rootRunId, runId, toolCallId }) => runtime.logger.warn({ root_run_id: rootRunId, run_id: runId, tool_call_id: toolCallId }, 'tool call killed its process'),
    }),
    send: (jobs) => runtime.sender.send(jobs),
    touched: (rootRunId) => runtime.notifier.touched(rootRunId),
    live: (rootRunId, news) => runtime.live.tell(rootRunId, news),
    limitsMet: (rootRunId) => runs.limitsMet(rootRunId),
    openWork: (rootRunId) => openWork.of(rootRunId),
    findings: async (tenantId, threadId) => (await scratchpad.read(tenantId, threadId)).entries.filter((entry) => entry.kind === 'finding').map((entry) => entry.text),
    observer: agentMetrics,
    nowMs: () => Date.now(),
    sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }).catch(() => undefined),
    random: () => Math.random(),
    randomBytes: runtime.randomBytes,
  };
  const close = async () => {
    waiter.close();
    await gate.close();
    await completions.close();
    await web.close();
  };
  return { deps, web, close };
}
