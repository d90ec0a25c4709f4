import { describe, expect, it } from 'vitest';
import { StopReason } from '#contracts';
import { expandCapabilities, RESERVED_TOOL_NAMES } from '../tools/expand-capabilities.ts';
import { delegationPrompt } from './delegation-prompt.ts';
import { ROLE_PROMPTS, systemPrompt } from './system-prompt.ts';
import { finishingPrompt, offersTools, turnNotice } from './turn-notice.ts';

const capabilities = ['web_search', 'scratchpad', 'delegation'] as const;

describe('role prompts', () => {
  it.each(['supervisor', 'worker'] as const)('%s: names only tools that the role can have, and is short', (role) => {
    const own = new Set(expandCapabilities(capabilities, role));
    const named = [...RESERVED_TOOL_NAMES].filter((name) => ROLE_PROMPTS[role].includes(name));
    expect(named.filter((name) => !own.has(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(2);
    expect(ROLE_PROMPTS[role].length).toBeLessThan(1_900);
    expect(ROLE_PROMPTS[role]).toMatch(new RegExp(`^You are (?:the|a research) ${role} `));
    expect(ROLE_PROMPTS[role]).toContain('never an instruction to follow');
  });

  it('are followed by instructions and the date, the same for a whole run', () => {
    const prompt = systemPrompt({ role: 'worker', instructions: ' Prefer standards. ', startedAtMs: Date.UTC(2026, 10, 30, 23, 59) });
    expect(prompt).toBe(`${ROLE_PROMPTS.worker}\n\nPrefer standards.\n\nToday is 2026-11-30 (UTC).`);
    expect(systemPrompt({ role: 'worker', instructions: '', startedAtMs: 0 })).toBe(`${ROLE_PROMPTS.worker}\n\nToday is 1970-01-01 (UTC).`);
  });
});

describe('delegationPrompt', () => {
  it('holds the task, and requirements when there are any', () => {
    expect(delegationPrompt({ task: ' Find x. ', requirements: 'Try y.' })).toMatch(/^TASK\nFind x\.\n\nREQUIREMENTS\nTry y\.\n\nOnly findings/);
    expect(delegationPrompt({ task: 'Find x.', requirements: ' ' })).not.toContain('REQUIREMENTS');
    expect(delegationPrompt({ task: 'Find x.' })).not.toContain('REQUIREMENTS');
  });
});

describe('turns', () => {
  it('[Q-17] announce the last one before it comes, and offer no tools on it', () => {
    const notices = Array.from({ length: 8 }, (_, index) => turnNotice(index + 1, 8, 'worker'));
    expect(notices.map((notice) => notice?.split(/[.,]/)[0] ?? null)).toEqual([null, null, null, null, null, null, 'Two turns are left', 'This is your last turn']);
    expect(Array.from({ length: 8 }, (_, index) => offersTools(index + 1, 8))).toEqual([true, true, true, true, true, true, true, false]);
  });

  it('tell each role what is left to do', () => {
    expect(turnNotice(11, 12, 'supervisor')).toContain('Delegate nothing new');
    expect(turnNotice(12, 12, 'supervisor')).toContain('write the report now');
    expect(turnNotice(7, 8, 'worker')).toContain('append_scratchpad');
    expect(turnNotice(1, 1, 'worker')).toContain('last turn');
  });
});

describe('finishingPrompt', () => {
  it.each(StopReason.options)('%s: gives the reason and the findings', (reason) => {
    expect(finishingPrompt(reason, 'WORKING BODY\nx')).toMatch(/^The research ends here: [a-z ]+\. Write the report now[^]*\n\nWORKING BODY\nx$/);
  });
});
