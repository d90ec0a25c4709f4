import { relative, sep } from 'node:path';
import { findViolation } from './boundaries.mjs';

/** Reports every import, export-from, dynamic import and import type that `boundaries.mjs` does not allow. */
export const importBoundary = {
  meta: { type: 'problem', schema: [], messages: { boundary: '{{message}}' } },
  create(context) {
    const path = relative(context.cwd, context.filename).split(sep).join('/');
    const check = (source, isTypeOnly) => {
      if (source?.type !== 'Literal' || typeof source.value !== 'string') return;
      const message = findViolation({ path, specifier: source.value, isTypeOnly });
      if (message) context.report({ node: source, messageId: 'boundary', data: { message } });
    };
    return {
      ImportDeclaration: (node) => check(node.source, isTypeImport(node)),
      ExportNamedDeclaration: (node) => check(node.source, node.exportKind === 'type'),
      ExportAllDeclaration: (node) => check(node.source, node.exportKind === 'type'),
      ImportExpression: (node) => check(node.source, false),
      TSImportType: (node) => check(node.source, true),
    };
  },
};

function isTypeImport(node) {
  if (node.importKind === 'type') return true;
  return node.specifiers.length > 0 && node.specifiers.every((specifier) => specifier.importKind === 'type');
}
