import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RunId } from '#contracts';
import { environment } from '#platform';
import { AgentWorld, startModelServer, waitUntil, type ModelScript, type ModelServer } from '#testing';

/** From the build, as services are. */
const PROCESS = fileURLToPath(new URL('../../../../dist/libs/runtime/src/spec-support/advance-process.js', import.meta.url));
/** Small enough to be filled quickly, large enough for everything else. */
const HEAP_MEGABYTES = 160;

/** Runs advanced by real processes, one at a time each, with a scripted model, short leases, and tools that may be deadly. */
export class AdvanceWorld {
  readonly rows: AgentWorld;
  readonly model: ModelServer;
  readonly #env: Record<string, string>;
  readonly #started: ChildProcess[] = [];

  static async open(script: ModelScript, env: Record<string, string> = {}): Promise<AdvanceWorld> {
    const rows = await AgentWorld.open();
    return new AdvanceWorld(rows, await startModelServer({ scripts: [script], defaultScript: script }), env);
  }

  private constructor(rows: AgentWorld, model: ModelServer, env: Record<string, string>) {
    this.rows = rows;
    this.model = model;
    const { url, redisUrl } = rows.database;
    this.#env = {
      DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'silent', LEASE_TTL_MS: '500', HEARTBEAT_INTERVAL_MS: '100', MODEL_BASE_URL: `${model.url}/v1`,
      MODEL_NAME: 'scripted', SEARCH_PROVIDER: 'searxng', SEARXNG_URL: model.url, WEB_ALLOW_PRIVATE_HOSTS: new URL(model.url).host, ...env,
    };
  }

  async close(): Promise<void> {
    for (const child of this.#started) child.kill('SIGKILL');
    await this.model.close();
    await this.rows.close();
  }

  /** Advances the run in a process of its own, as far as it goes; resolves with its exit code, or null when it died on the way. */
  async advance(runId: RunId): Promise<number | null> {
    const { PATH, HOME } = environment();
    const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MEGABYTES}`, PROCESS, runId], { env: { PATH, HOME, ...this.#env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#started.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream!.on('data', (data: Buffer) => (output += data.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (!output.startsWith('ready')) throw new Error(`the process did not start: ${output}`);
    return output.includes('done') ? code : null;
  }

  /** Waits until another process may have the run. */
  async lapsed(runId: RunId): Promise<void> {
    const condition = 'r.lease_expires_at < NOW(3) AND NOT EXISTS (SELECT 1 FROM lease_owners o WHERE o.owner = r.lease_owner AND o.expires_at >= NOW(3))';
    await waitUntil(() => this.rows.one<string>(`SELECT r.id FROM runs r WHERE r.id = ? AND ${condition}`, [runId]), { what: 'the end of the lease' });
  }

  /** The one worker run of a root run. */
  async workerOf(rootRunId: RunId): Promise<RunId> {
    return (await this.rows.workers(rootRunId))[0]!['id'] as RunId;
  }
}
