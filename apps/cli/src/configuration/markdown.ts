import type { Variable } from './variables.ts';

const HEADER = `# Configuration

Every environment variable that a process reads, printed by \`npm run -s quaestor -- config\` from the schemas that check them. An empty value
counts as unset. A process that finds a bad value names all of them at once and does not start. One variable that services read for different
ends has a row for each.

| variable | meaning | unit or form | default | read by |
|---|---|---|---|---|
`;

/** The page `docs/configuration.md`, with its final line break. */
export function renderConfiguration(variables: readonly Variable[]): string {
  const rows = variables.map(({ name, meaning, unit, fallback, services }) => row([`\`${name}\``, meaning, unit, fallback, services.join(', ')]));
  return HEADER + rows.join('');
}

const row = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
