import { describe, expect, it } from 'vitest';
import { CRASH_POINTS, randomSource, type CrashPoint, type LoggedRequest } from '#testing';
import type { Slot } from './fleet.ts';
import { percentile } from './figures.ts';
import { byPlace, stateAtDeath, tokenIn, type HeldRun, type KillRecord } from './kill-record.ts';
import { Killer } from './killer.ts';

const slot = (service: Slot['service']): Slot => ({ service, title: service, pid: 1, isReady: true, readyAtMs: 0, armed: null });
const killer = (seed: number, points: CrashPoint[] | null = null) => new Killer({ random: randomSource(seed), kills: 1, points, mayKill: () => true, busyPids: () => Promise.resolve(new Set()) });
const arms = (seed: number, points?: CrashPoint[]): (string | null)[] => {
  const one = killer(seed, points);
  return Array.from({ length: 200 }, (_, index) => one.arm(slot(index % 2 === 0 ? 'worker' : 'supervisor')));
};

describe('the killer', () => {
  it('arms the same processes at the same passes for one seed, and others for another', () => {
    expect(arms(7)).toEqual(arms(7));
    expect(arms(7)).not.toEqual(arms(8));
  });

  it('arms with the points it is given, and only where they are passed', () => {
    expect(new Set(arms(7, ['K15', 'K13']).filter((arm) => arm !== null).map((arm) => arm.split(':')[0]))).toEqual(new Set(['K15', 'K13']));
    expect(killer(1, ['K17']).arm(slot('gateway'))).toBeNull();
  });

  it('knows a service for every point', () => {
    const everywhere = (['worker', 'supervisor', 'gateway', 'scratchpad'] as const).map(slot);
    for (const point of Object.keys(CRASH_POINTS) as CrashPoint[]) {
      const one = killer(3, [point]);
      const armed = Array.from({ length: 40 }, (_, index) => one.arm(everywhere[index % everywhere.length]!));
      expect(armed.some((arm) => arm?.startsWith(point))).toBe(true);
    }
  });
});

const DEATH_MS = 1_000;
const held = (more: Partial<HeldRun> = {}): HeldRun => ({ id: 'run_1', epoch: 1, token: 'run000001', worker: 1, turn: 2, openCalls: 0, openModelCalls: 1, ...more });
const record = (more: Partial<KillRecord>): KillRecord => ({
  id: 1, at: '', atMs: DEATH_MS, service: 'worker', title: 'worker-1', pid: 1, how: 'random', held: [], served: 0, state: 'idle', evidence: '', ...more,
});
const asked = (startMs: number, endMs: number | null, isAnswered: boolean): LoggedRequest => ({ run: 'run000001', worker: 1, turn: 3, target: null, startMs, endMs, isAnswered });

describe('what a process was at when it died', () => {
  it.each<[string, Partial<KillRecord>, LoggedRequest[], string]>([
    ['nothing held', {}, [], 'idle'],
    ['open streams of readers', { served: 2 }, [], 'serving'],
    ['a call under way', { held: [held({ openCalls: 1 })] }, [], 'tools'],
    ['a call that was never made', { held: [held()] }, [asked(2_000, null, false)], 'claimed'],
    ['an answer that was cut by the death', { held: [held()] }, [asked(900, DEATH_MS + 1, false)], 'stream'],
    ['an answer that was whole and not settled', { held: [held()] }, [asked(900, 950, true)], 'committing'],
    ['the gravest of several', { held: [held({ openModelCalls: 0 }), held({ openCalls: 1 })] }, [], 'tools'],
    ['a point that says it', { how: 'K10' }, [], 'committing'],
  ])('%s', (_, death, requests, state) => expect(stateAtDeath(record(death), byPlace(requests))).toBe(state));
});

it('finds the token of a run in its question', () => expect(tokenIn('Storm: what is known? happy() run.run000012')).toBe('run000012'));

it('takes the nearest rank of a share', () => {
  expect(percentile([], 0.99)).toBe(0);
  expect(percentile([4, 1, 3, 2], 0.5)).toBe(2);
  expect(percentile([4, 1, 3, 2], 1)).toBe(4);
});
