import { QuaestorError } from '#contracts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { configurationProblems, loadConfig } from './load-config.ts';

const schema = z.object({
  GATEWAY_PORT: z.coerce.number().int().min(0).max(65_535).default(3000).describe('port of the API, 0 to 65535; default 3000.'),
  SEARCH_PROVIDER: z.enum(['docs', 'searxng']).optional().describe('docs or searxng; default docs.'),
  DATABASE_URL: z.url({ protocol: /^mysql$/ }).describe('mysql://user:password@host:port/name.'),
  MODEL_API_KEY: z.string().min(10).optional().describe('key of the model provider.'),
});
const databaseUrl = 'mysql://quaestor:hunter2@127.0.0.1:3306/quaestor';

function problemsOf(env: Record<string, string>): string {
  try {
    loadConfig(schema, env);
  } catch (error) {
    expect(error).toBeInstanceOf(QuaestorError);
    expect((error as QuaestorError).code).toBe('CONFIG_INVALID');
    return (error as QuaestorError).message;
  }
  throw new Error('the configuration was accepted');
}

describe('loadConfig', () => {
  it('returns typed values and defaults', () => {
    expect(loadConfig(schema, { DATABASE_URL: databaseUrl, GATEWAY_PORT: '8080' })).toEqual({ DATABASE_URL: databaseUrl, GATEWAY_PORT: 8080 });
  });

  it('takes an empty string for unset', () => {
    expect(loadConfig(schema, { DATABASE_URL: databaseUrl, GATEWAY_PORT: '', SEARCH_PROVIDER: '' })).toEqual({ DATABASE_URL: databaseUrl, GATEWAY_PORT: 3000 });
    expect(problemsOf({ DATABASE_URL: '' })).toContain('DATABASE_URL: is not set. Allowed: mysql://');
  });

  it('reports every bad key at once, each on its own line with what is allowed', () => {
    const lines = problemsOf({ GATEWAY_PORT: '99999', SEARCH_PROVIDER: 'bing' }).split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/^ {2}GATEWAY_PORT: .*65535.*\(it is "99999"\)\. Allowed: port of the API/);
    expect(lines[2]).toMatch(/^ {2}SEARCH_PROVIDER: .*\(it is "bing"\)\. Allowed: docs or searxng/);
    expect(lines[3]).toMatch(/^ {2}DATABASE_URL: is not set/);
  });

  it('never shows the value of a variable that may hold a secret', () => {
    const message = problemsOf({ DATABASE_URL: 'postgres://u:hunter2@h/d', MODEL_API_KEY: 'sk-short' });
    expect(message).toContain('DATABASE_URL');
    expect(message).toContain('MODEL_API_KEY');
    expect(message).not.toMatch(/hunter2|sk-short/);
  });

  it('refuses a misspelt variable of ours and ignores those of others', () => {
    expect(problemsOf({ DATABASE_URL: databaseUrl, QUAESTOR_ULR: 'http://x' })).toContain('QUAESTOR_ULR: no such setting; known are QUAESTOR_URL');
    expect(() => loadConfig(schema, { DATABASE_URL: databaseUrl, GATEWAY_PROT: '1', QUAESTOR_URL: 'http://x' })).not.toThrow();
  });
});

describe('the problems of a configuration', () => {
  const schema = z.object({ PORT: z.coerce.number().describe('a port.'), ADDRESS: z.string().describe('an address.') });
  it('are told for what is set, with what is allowed', () => expect(configurationProblems(schema, { PORT: 'x' })).toEqual([expect.stringMatching(/^PORT: .* Allowed: a port\.$/)]));
  it('are none for a setting that somebody else fills in', () => expect(configurationProblems(schema, { PORT: '1' })).toEqual([]));
});
