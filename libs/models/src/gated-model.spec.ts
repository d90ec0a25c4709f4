import { describe, expect, it } from 'vitest';
import { QuaestorError } from '#contracts';
import type { LanguageModel, ModelGate } from '#domain';
import { behindGate } from './gated-model.ts';
import { NEVER, REQUEST } from './testing/ask.ts';

class NotingGate implements ModelGate {
  readonly notes: string[] = [];
  readonly keys = new Set<string>();

  enter(key: string, waitMs: number): Promise<() => void> {
    this.keys.add(key);
    this.notes.push(`enter ${waitMs}`);
    return Promise.resolve(() => void this.notes.push('leave'));
  }

  pause(_: string, pauseMs: number): Promise<void> {
    this.notes.push(`pause ${pauseMs}`);
    return Promise.resolve();
  }
}

const modelThat = (stream: LanguageModel['stream'], id = 'openai-compatible'): LanguageModel => ({ id, host: 'api.example', stream });
const failing = (error: Error): LanguageModel => modelThat(() => Promise.reject(error));

describe('a model behind a gate', () => {
  it('enters before the call, within its time, and leaves after it', async () => {
    const gate = new NotingGate();
    await behindGate(gate)(modelThat(() => Promise.resolve(void gate.notes.push('call'))), 'sk-1').stream({ ...REQUEST, timeoutMs: 7 }, () => undefined, NEVER);
    expect(gate.notes).toEqual(['enter 7', 'call', 'leave']);
  });

  it('[L08] [B34] tells all who share it how long the server wants to be left alone, and leaves', async () => {
    const gate = new NotingGate();
    const later = new QuaestorError('MODEL_RATE_LIMITED', 'later', { retryAfterMs: 2_000 });
    await expect(behindGate(gate)(failing(later), 'sk-1').stream({ ...REQUEST, timeoutMs: 7 }, () => undefined, NEVER)).rejects.toBe(later);
    const never = new QuaestorError('MODEL_QUOTA_EXHAUSTED', 'never', { retryAfterMs: 2_000 });
    await expect(behindGate(gate)(failing(never), 'sk-1').stream({ ...REQUEST, timeoutMs: 7 }, () => undefined, NEVER)).rejects.toBe(never);
    expect(gate.notes).toEqual(['enter 7', 'pause 2000', 'leave', 'enter 7', 'leave']);
  });

  it('[L43] shares its gate by address and key, and names neither', async () => {
    const gate = new NotingGate();
    for (const key of ['sk-1', 'sk-1', 'sk-2', undefined]) await behindGate(gate)(modelThat(() => Promise.resolve()), key).stream(REQUEST, () => undefined, NEVER);
    expect(gate.keys.size).toBe(3);
    expect([...gate.keys].join()).not.toMatch(/sk-|example/);
  });

  it('leaves the built-in model alone', () => {
    const model = modelThat(() => Promise.resolve(), 'extractive');
    expect(behindGate(new NotingGate())(model, undefined)).toBe(model);
  });
});
