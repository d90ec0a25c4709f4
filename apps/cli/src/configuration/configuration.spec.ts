import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PROJECT_ROOT } from '../project-root.ts';
import { renderConfiguration } from './markdown.ts';
import { loadServiceSchemas } from './service-schemas.ts';
import { listVariables } from './variables.ts';

describe('listVariables', () => {
  const wait = z.coerce.number().int().min(5).max(90).default(7);
  const one = z.object({
    WAIT_MS: wait.describe('Longest wait, in milliseconds. Default 7.'),
    ENGINE: z.enum(['a', 'b']).optional().describe('which engine; default: a when B is unset.'),
    STORE_URL: z.url().describe('address of the store.'),
    OPEN: z.stringbool().optional().describe('whether it is open.'),
  });
  const other = z.object({ WAIT_MS: wait.describe('Longest wait, in milliseconds. Default 7.'), STORE_URL: z.url().describe('only shown.') });

  it('reads meaning, form, default and readers from the schemas', () => {
    expect(listVariables({ one, other })).toEqual([
      { name: 'ENGINE', meaning: 'Which engine', unit: 'a, b', fallback: 'a when B is unset', services: ['one'] },
      { name: 'OPEN', meaning: 'Whether it is open', unit: 'true or false', fallback: 'unset', services: ['one'] },
      { name: 'STORE_URL', meaning: 'Address of the store', unit: 'address', fallback: 'required', services: ['one'] },
      { name: 'STORE_URL', meaning: 'Only shown', unit: 'address', fallback: 'required', services: ['other'] },
      { name: 'WAIT_MS', meaning: 'Longest wait', unit: 'milliseconds, 5 to 90', fallback: '7', services: ['one', 'other'] },
    ]);
  });
});

describe('docs/configuration.md', () => {
  it('says what the schemas say; if not: npm run -s quaestor -- config > docs/configuration.md', async () => {
    const variables = listVariables(await loadServiceSchemas(PROJECT_ROOT, 'ts'));
    expect(readFileSync(path.join(PROJECT_ROOT, 'docs/configuration.md'), 'utf8')).toBe(renderConfiguration(variables));
  });

  it('has a meaning for every variable and no folder of this machine', async () => {
    for (const { meaning, fallback } of listVariables(await loadServiceSchemas(PROJECT_ROOT, 'ts'))) {
      expect(meaning).toMatch(/\S{2}/);
      expect(fallback).not.toContain(PROJECT_ROOT);
    }
  });
});
