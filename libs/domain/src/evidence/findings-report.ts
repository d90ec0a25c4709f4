import { stripControlCharacters } from '../text/sanitize.ts';

/** What stands in the place of a report when no model can write one any more: the findings as they were promoted. */
export function findingsReport(findings: readonly string[]): string {
  if (findings.length === 0) return 'No findings were recorded before the run stopped.';
  return ['Findings recorded before the run stopped:', ...findings.map(stripControlCharacters)].join('\n\n');
}
