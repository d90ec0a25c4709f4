import { fileURLToPath } from 'node:url';
import type { LoggedRequest, WriteTimes } from './request-log.ts';
import type { RunRecord } from './run-records.ts';
import { spawnNode } from '../spawn-process.ts';

export interface SpawnedModelServer {
  pid: number;
  /** The fixture web; the model is at `<url>/v1`. */
  url: string;
  /** Settings that point a stack at this server. */
  environment: Record<string, string>;
  runs(): Promise<RunRecord[]>;
  run(id: string): Promise<RunRecord | undefined>;
  /** Every request so far, or those of one run, if the server keeps them. */
  requests(run?: string): Promise<LoggedRequest[]>;
  /** When each event of each paced answer of a run was written, if the server keeps requests. */
  writes(run: string): Promise<WriteTimes[]>;
  /** Instructions and tools as each role was first given them since the last reset. */
  prompts(): Promise<Record<string, SeenPrompt>>;
  reset(): Promise<void>;
  stats(): Promise<ModelServerStats>;
  stop(): Promise<void>;
}

export interface SeenPrompt {
  instructions: string;
  tools: object[];
}

export interface ModelServerStats {
  responses: number;
  open: number;
  openPeak: number;
  runs: number;
  meanLateMs: number;
  maxLateMs: number;
  cpuMicroseconds: { user: number; system: number };
  rssBytes: number;
}

const compiledEntry = (): string => fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './main.js', import.meta.url));

/** Starts the scripted model server in a process of its own. */
export async function spawnModelServer(options: { script?: string; port?: number; keepsRequests?: boolean } = {}): Promise<SpawnedModelServer> {
  const args = [compiledEntry(), '--script', options.script ?? 'happy', '--port', String(options.port ?? 0), ...(options.keepsRequests ? ['--keep-requests'] : [])];
  const child = await spawnNode(args, { readyPattern: /ready at (http:\/\/\S+)/ });
  const url = child.ready[1]!;
  const get = async <Body>(path: string): Promise<Body> => (await fetch(`${url}${path}`)).json() as Promise<Body>;
  return {
    pid: child.pid,
    url,
    environment: {
      MODEL_BASE_URL: `${url}/v1`,
      MODEL_API_KEY: 'scripted',
      MODEL_NAME: 'scripted',
      SEARCH_PROVIDER: 'searxng',
      SEARXNG_URL: url,
      WEB_ALLOW_PRIVATE_HOSTS: new URL(url).host,
    },
    runs: () => get<RunRecord[]>('/__runs'),
    run: async (id) => (await get<RunRecord[]>(`/__runs?id=${encodeURIComponent(id)}`))[0],
    requests: (run) => get<LoggedRequest[]>(run === undefined ? '/__requests' : `/__requests?run=${encodeURIComponent(run)}`),
    writes: (run) => get<WriteTimes[]>(`/__writes?run=${encodeURIComponent(run)}`),
    prompts: () => get<Record<string, SeenPrompt>>('/__prompts'),
    reset: async () => void (await fetch(`${url}/__reset`, { method: 'POST' })),
    stats: () => get<ModelServerStats>('/__stats'),
    stop: child.stop,
  };
}
