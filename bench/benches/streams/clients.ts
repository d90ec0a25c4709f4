import http from 'node:http';
import { treeResidentBytes } from '#testing';
import type { RunId } from '#contracts';
import { benchQuestion, newToken } from '../../rig/ask.ts';
import type { Rig } from '../../rig/rig.ts';
import { quantile, rounded } from '../../rig/statistics.ts';
import { GIVE_UP_AFTER_MS, LIMITS, type Part } from './part.ts';

const RUNS = 10;
const SCRIPT = 'bench(n1,k2,t10,m150,e10,d100)';
/** One reader in so many looks into its events; the others count their bytes, so that this process does not measure itself. */
const SAMPLED = 20;

/** Many event streams of one gateway at once: how long an event is on its way from the gateway's clock to a reader, and what they cost in memory. */
export const clientsPart: Part = async ({ clients = 1_000, log }, startRig) => {
  const rig = await startRig();
  log(`${clients} readers of ${RUNS} runs ...`);
  const residentBytes = (): number => treeResidentBytes(rig.stack.pids().gateway);
  const beforeBytes = residentBytes();
  const ids = await Promise.all(Array.from({ length: RUNS }, async () => (await rig.client.createRun({ question: benchQuestion(SCRIPT, newToken()), ...LIMITS })).id));
  const delays: number[] = [];
  let peakBytes = 0;
  const watching = setInterval(() => (peakBytes = Math.max(peakBytes, residentBytes())), 250);
  const bytes = await Promise.all(Array.from({ length: clients }, (_, position) => read(rig, ids[position % RUNS]!, position % SAMPLED === 0 ? delays : null)));
  clearInterval(watching);
  const afterBytes = residentBytes();
  const ended = bytes.filter((count) => count > 0).length;
  const megabytes = (count: number): number => rounded(count / 1e6, 1);
  return {
    lines: [
      `${clients} readers of one gateway, ${delays.length} events of ${Math.ceil(clients / SAMPLED)} of them: delay p50 ${rounded(quantile(delays, 0.5))} ms, p95 ${rounded(quantile(delays, 0.95))} ms; ${ended} streams whole; gateway ${megabytes(beforeBytes)} MB before, ${megabytes(peakBytes)} MB at most, ${megabytes(afterBytes)} MB after`,
    ],
    figures: {
      clients, clients_ended: ended, client_delay_p50_ms: rounded(quantile(delays, 0.5)), client_delay_p95_ms: rounded(quantile(delays, 0.95)), client_delay_p99_ms: rounded(quantile(delays, 0.99)),
      gateway_rss_before_mb: megabytes(beforeBytes), gateway_rss_peak_mb: megabytes(peakBytes), gateway_rss_after_mb: megabytes(afterBytes),
    },
  };
};

const LIVE_AT = /"type":"content".*?"at":"([^"]+)"/g;

/** Reads one stream to its end; resolves to its bytes, or 0 when it broke. Delays are of live texts: `at` is when the gateway sent them on. */
function read(rig: Rig, id: RunId, delays: number[] | null): Promise<number> {
  return new Promise((resolve) => {
    const options = { agent: false, headers: { authorization: `Bearer ${rig.stack.apiKey}` }, timeout: GIVE_UP_AFTER_MS };
    const request = http.get(`${rig.stack.url}/v1/runs/${id}/events`, options, (response) => {
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (delays) for (const [, at] of part.toString('utf8').matchAll(LIVE_AT)) delays.push(Date.now() - Date.parse(at!));
      });
      response.on('end', () => resolve(bytes));
      response.on('error', () => resolve(0));
    });
    request.on('error', () => resolve(0));
  });
}
