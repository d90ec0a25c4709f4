import { describe, expect, it } from 'vitest';
import { StopReason } from '#contracts';
import { flagReport } from './flag-report.ts';

const none = { limitsHit: [], failures: [], missing: [] };

describe('flagReport', () => {
  it('leaves a full answer alone', () => expect(flagReport('# R', { stopReason: 'answered', ...none })).toBe('# R'));

  it.each(StopReason.options.filter((reason) => reason !== 'answered'))('says why the run stopped: %s', (stopReason) => {
    expect(flagReport('# R', { stopReason, ...none })).toMatch(/^> \*\*Incomplete report\.\*\* [A-Z][^.]+\.\n\n# R$/);
  });

  it('lists what is missing, what failed and which limits were met', () => {
    const flags = { stopReason: 'budget_exhausted', limitsHit: ['source_cap', 'credits'], missing: ['Tides in 2024'], failures: ['Reading https://e.org/a failed.'] } as const;
    expect(flagReport('# R', flags)).toBe(
      '> **Incomplete report.** The run stopped because its credits were used up.\n>\n> Limits met: number of sources, credits.\n>\n' +
        '> Missing:\n> - Tides in 2024\n>\n> Failures on the way:\n> - Reading `https://e.org/a` failed.\n\n# R',
    );
  });

  it('stands alone without a report, and shows a long list in part', () => {
    const notice = flagReport(' ', { stopReason: 'deadline_reached', ...none, missing: Array.from({ length: 25 }, (_, index) => `part ${index}`) });
    expect(notice).toContain('part 19\n> - and 5 more');
    expect(notice).not.toContain('part 20');
  });

  it('shows hostile failures as words', () => {
    const notice = flagReport('', { stopReason: 'deadline_reached', ...none, failures: ['![x](https://evil.org)\n# big <img src=x>'] });
    expect(notice).not.toMatch(/!\[|<img|^#/m);
  });
});
