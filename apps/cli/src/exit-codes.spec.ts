import { QuaestorError, type ErrorCode } from '#contracts';
import { describe, expect, it } from 'vitest';
import { exitCodeOfError } from './exit-codes.ts';

describe('the exit code of an error', () => {
  it.each<[ErrorCode, number]>([
    ['CONFIG_INVALID', 2],
    ['REDIS_EVICTS_KEYS', 2],
    ['DATABASE_UNSUITABLE', 2],
    ['NOT_FOUND', 2],
    ['REDIS_UNREACHABLE', 7],
    ['DATABASE_UNREACHABLE', 7],
  ])('%s is %i', (code, exitCode) => expect(exitCodeOfError(new QuaestorError(code, 'words'))).toBe(exitCode));
  it('of something unforeseen is that of a failed run', () => expect(exitCodeOfError(new Error('words'))).toBe(6));
});
