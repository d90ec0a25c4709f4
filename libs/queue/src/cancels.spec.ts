import { randomBytes } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { RunId } from '#contracts';
import { mintId } from '#domain';
import { testServices, waitUntil } from '#testing';
import { listenToCancels, tellCancelled } from './cancels.ts';
import { connectRedis } from './connection.ts';
import { cancelsChannel } from './names.ts';

const { redisUrl } = await testServices();
const connections = (['producer', 'consumer', 'consumer'] as const).map((kind) => connectRedis(redisUrl, kind, () => undefined));
afterAll(() => connections.forEach((redis) => redis.disconnect()));

it('[Q-18] a cancel is heard by every process of its own database, and nothing that is no run id', async () => {
  const [teller, ...listeners] = connections;
  const channel = cancelsChannel(randomBytes(4).toString('hex'));
  const heard: RunId[] = [];
  for (const listener of listeners) listenToCancels(listener, channel, (runId) => heard.push(runId));
  await waitUntil(async () => ((await teller!.pubsub('NUMSUB', channel)) as [string, number])[1] === 2, { what: 'both subscriptions' });
  const runId = RunId.parse(mintId('run', randomBytes(17)));
  await teller!.publish(channel, 'run_nonsense');
  tellCancelled(teller!, cancelsChannel('another'), runId);
  tellCancelled(teller!, channel, runId);
  await waitUntil(() => heard.length >= 2, { what: 'the cancel' });
  expect(heard).toEqual([runId, runId]);
});
