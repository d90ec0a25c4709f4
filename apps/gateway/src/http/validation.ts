import { QuaestorError } from '#contracts';
import { StandardSchemaValidationPipe } from '@nestjs/common';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

const nameOf = (issue: Issue): string => (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');

/** The first problem of a request, named. Zod says what was expected, never the value. */
export function invalidRequest(issues: readonly Issue[]): QuaestorError {
  const [first] = issues;
  const param = first ? nameOf(first) : '';
  const detail = first?.message ?? 'The request is not valid';
  return new QuaestorError('INVALID_REQUEST', param ? `${param}: ${detail}.` : `${detail}.`, { details: { param: param || null } });
}

/** Checks every parameter that is declared with a schema. */
export const validationPipe = (): StandardSchemaValidationPipe => new StandardSchemaValidationPipe({ exceptionFactory: invalidRequest });
