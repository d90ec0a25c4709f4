import tseslint from 'typescript-eslint';
import { importBoundary } from './scripts/lint/import-boundary.mjs';

const TESTS = ['**/*.spec.ts', '**/spec-support/**', 'libs/*/src/**/testing/**', 'libs/testing/**', 'test/**', 'bench/**'];
const quaestor = { rules: { 'import-boundary': importBoundary } };

const BANNED_SYNTAX = [
  { selector: 'TSEnumDeclaration', message: 'An enum leaves code behind and does not narrow: write an `as const` object.' },
  { selector: 'ExportDefaultDeclaration', message: 'A default export has no name of its own: export by name.' },
];

const BANNED_ENVIRONMENT = [
  { selector: "MemberExpression[object.name='process'][property.name='env']", message: 'Only libs/platform reads the environment: declare a zod field in your config.ts and use loadConfig of #platform.' },
  { selector: "VariableDeclarator[init.name='process'] > ObjectPattern > Property[key.name='env']", message: 'Only libs/platform reads the environment: declare a zod field in your config.ts and use loadConfig of #platform.' },
  { selector: "ImportDeclaration[source.value='node:process']", message: 'Use the global `process`: an imported one hides who reads the environment.' },
];

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.local/', 'coverage/', 'bench/out/'] },
  { linterOptions: { noInlineConfig: true } },
  {
    name: 'sources',
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommended],
    plugins: { quaestor },
    rules: {
      'quaestor/import-boundary': 'error',
      'no-restricted-syntax': ['error', ...BANNED_SYNTAX, ...BANNED_ENVIRONMENT],
      'no-restricted-properties': ['error', { property: 'waitUntilFinished', message: 'It hangs for ever when its job is lost: use the completions of #queue, which also look at the rows.' }],
      'no-console': 'error',
      'no-empty': 'error',
      'eqeqeq': ['error', 'always'],
      'prefer-const': 'error',
      'no-var': 'error',
      'no-constant-binary-expression': 'error',
      'no-unreachable-loop': ['error', { ignore: ['ForOfStatement'] }],
      'no-self-compare': 'error',
      'max-lines': ['error', { max: 300 }],
      'max-lines-per-function': ['error', { max: 70 }],
      'complexity': ['error', { max: 20, variant: 'modified' }],
      'max-depth': ['error', { max: 4 }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
    },
  },
  {
    name: 'sources, with types',
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      '@typescript-eslint/restrict-plus-operands': 'error',
      '@typescript-eslint/no-unsafe-call': 'error',
      '@typescript-eslint/no-unsafe-return': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  { name: 'platform reads the environment', files: ['libs/platform/**/*.ts'], rules: { 'no-restricted-syntax': ['error', ...BANNED_SYNTAX] } },
  {
    name: 'tests',
    files: TESTS,
    rules: { 'no-restricted-syntax': ['error', ...BANNED_SYNTAX], 'max-lines-per-function': 'off', '@typescript-eslint/no-unsafe-call': 'off', '@typescript-eslint/no-unsafe-return': 'off' },
  },
  { name: 'specs and migrations', files: ['**/*.spec.ts', 'libs/database/src/migrations/**'], rules: { 'max-lines': 'off', 'max-lines-per-function': 'off', 'complexity': 'off' } },
  { name: 'declarations of packages without any', files: ['**/*.d.ts'], rules: { 'no-restricted-syntax': 'off' } },
  { name: 'configurations', files: ['*.config.ts'], rules: { 'no-restricted-syntax': 'off' }, extends: [tseslint.configs.disableTypeChecked] },
  {
    name: 'scripts',
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly', setTimeout: 'readonly', clearTimeout: 'readonly', setInterval: 'readonly', clearInterval: 'readonly', performance: 'readonly', SharedArrayBuffer: 'readonly', Atomics: 'readonly', Int32Array: 'readonly' } },
    rules: { 'no-undef': 'error', 'no-unused-vars': ['error', { varsIgnorePattern: '^_' }], 'no-empty': 'error', 'prefer-const': 'error', 'eqeqeq': ['error', 'always'], 'max-lines': ['error', { max: 300 }], 'max-lines-per-function': ['error', { max: 70 }] },
  },
);
