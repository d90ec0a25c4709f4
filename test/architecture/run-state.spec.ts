import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/*
 * One process works on the runs of many tenants at once, so nothing of a run may live in a module: what a file keeps at its top level, or in
 * a static member, is shared by all of them. Constants are fine; what can be filled or set later is not.
 */
const root = path.resolve(import.meta.dirname, '../..');
const FOLDERS = ['libs/agent', 'libs/contracts', 'libs/database', 'libs/domain', 'libs/models', 'libs/queue', 'libs/runtime', 'libs/tools', 'libs/web', 'apps/scratchpad', 'apps/supervisor', 'apps/worker', 'apps/gateway'];
/**
 * Remembered answers of pure functions, which are the same for everybody; what lives as long as its own key; and entries of a process that
 * works on one thing and then ends.
 */
const ALLOWED: Record<string, string> = {
  'libs/agent/src/conversation.ts definitionTokens': 'a count per tool definition, which no run changes',
  'libs/agent/src/prompt-hash.ts digests': 'a hash per message, gone with the message',
  'libs/database/src/format-statement.ts partsOf': 'texts of statements, without their values',
  'libs/domain/src/text/terms.ts stemCache': 'the stem of a word',
  'libs/domain/src/tools/tool-definitions.ts cache': 'the definition of a tool',
  'libs/runtime/src/isolation/child.ts asked': 'the process of one call',
  'libs/runtime/src/isolation/child.ts questions': 'the process of one call',
  'libs/database/src/leases/pulse-thread.ts connection': 'the thread of one process, which knows no runs',
  'apps/gateway/src/auth/authentication.ts owners': 'the owner of each request, gone with the request',
};

const FILLED_LATER = new Set(['Map', 'Set', 'WeakMap', 'WeakSet', 'Array', 'AsyncLocalStorage']);

/** Why a value can hold state, or null. */
function stateOf(value: ts.Expression | undefined): string | null {
  if (!value) return null;
  if (ts.isNewExpression(value) && ts.isIdentifier(value.expression) && FILLED_LATER.has(value.expression.text) && (value.arguments?.length ?? 0) === 0) return `an empty ${value.expression.text}`;
  if (ts.isArrayLiteralExpression(value) && value.elements.length === 0) return 'an empty array';
  if (ts.isObjectLiteralExpression(value) && value.properties.length === 0) return 'an empty object';
  return null;
}

/** `name: why` for everything in a source that is shared and can change. */
export function sharedState(source: string): string[] {
  const found: string[] = [];
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  for (const statement of file.statements) {
    if (ts.isVariableStatement(statement)) {
      const isConstant = (statement.declarationList.flags & ts.NodeFlags.Const) !== 0;
      for (const { name, initializer, type } of statement.declarationList.declarations) {
        const isReadonly = /^readonly |^Readonly/.test(type?.getText() ?? '');
        const why = isConstant ? (isReadonly ? null : stateOf(initializer)) : 'it can be set again';
        if (why) found.push(`${name.getText()}: ${why}`);
      }
    }
    if (ts.isClassDeclaration(statement)) {
      for (const member of statement.members) {
        if (!ts.isPropertyDeclaration(member) || !member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)) continue;
        const isReadonly = member.modifiers.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword);
        const why = isReadonly ? stateOf(member.initializer) : 'it can be set again';
        if (why) found.push(`${statement.name?.text}.${member.name.getText()}: ${why}`);
      }
    }
  }
  return found;
}

function* sourcesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!['spec-support', 'testing', 'migrations'].includes(entry.name)) yield* sourcesBelow(file);
    } else if (/(?<!\.spec|\.d)\.ts$/.test(entry.name)) yield file;
  }
}

describe('no state of a run is shared', () => {
  it('no module and no class keeps what could be filled or set later', () => {
    const files = FOLDERS.flatMap((folder) => [...sourcesBelow(`${folder}/src`)]);
    expect(files.length).toBeGreaterThan(150);
    const shared = files.flatMap((file) => sharedState(readFileSync(path.join(root, file), 'utf8')).map((found) => `${file} ${found}`));
    expect(shared.filter((found) => !(found.slice(0, found.indexOf(':')) in ALLOWED))).toEqual([]);
    const names = shared.map((found) => found.slice(0, found.indexOf(':')));
    expect(Object.keys(ALLOWED).filter((name) => !names.includes(name))).toEqual([]);
  });

  it.each([
    ['let current = null;', ['current: it can be set again']],
    ['export const runs = new Map<string, number>();', ['runs: an empty Map']],
    ['const seen = [];', ['seen: an empty array']],
    ['class Runs { static #count = 0; }', ['Runs.#count: it can be set again']],
    ['class Runs { static readonly all = new Set(); }', ['Runs.all: an empty Set']],
    ['const LIMITS = { turns: 8 }; const none: readonly string[] = []; const CODES = new Set([1, 2]); const make = () => []; class A { readonly #own = new Map(); }', []],
  ])('notices %s', (source, found) => {
    expect(sharedState(source)).toEqual(found);
  });
});
