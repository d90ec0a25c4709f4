import { expect, it } from 'vitest';
import type { ToolResult } from '#contracts';
import { failureSentence, openWorkOf, type AccountedCall } from './open-work.ts';

const call = (name: string, given: object, result: ToolResult | null, status: AccountedCall['status'] = 'succeeded'): AccountedCall => ({ name, arguments: JSON.stringify(given), status, result });
const hits = (...urls: string[]): ToolResult => ({ kind: 'hits', query: 'q', provider: 'p', hits: urls.map((url, index) => ({ rank: index + 1, url, title: `Title ${url}`, snippet: '' })) });
const error = (code: string): ToolResult => ({ kind: 'error', code, message: 'no' });

it('tells what was asked, what failed, and what is still to be done', () => {
  const work = openWorkOf(
    [
      call('perform_web_search', { query: 'leases' }, hits('https://a.test/', 'https://b.test/#x', 'https://c.test/')),
      call('perform_web_search', { query: 'locks' }, error('BUDGET_EXHAUSTED'), 'refused'),
      call('perform_web_search', { query: 'leases' }, error('CALL_REPEATED'), 'failed'),
      call('read_web_page', { url: 'HTTPS://A.test' }, error('PAGE_FETCH_FAILED'), 'failed'),
      call('read_web_page', { url: 'https://b.test/' }, { kind: 'text', text: 'read' }),
      call('scroll_web_page', { url: 'https://b.test/', page: 1 }, error('PAGE_OUT_OF_RANGE'), 'failed'),
      { ...call('read_web_page', {}, error('TOOL_ARGUMENTS_INVALID'), 'failed'), arguments: 'broken' },
    ],
    [{ task: 'Find out more.', status: 'incomplete' }, { task: 'Done.', status: 'completed' }],
  );
  expect(work.queries).toEqual(['leases', 'locks']);
  expect(work.failures.map(failureSentence)).toEqual(['The search for "locks" failed: BUDGET_EXHAUSTED.', 'Reading HTTPS://A.test failed: PAGE_FETCH_FAILED.', 'Reading  failed: TOOL_ARGUMENTS_INVALID.']);
  expect(work.remaining).toEqual([{ kind: 'task', task: 'Find out more.' }, { kind: 'search', query: 'locks' }, { kind: 'read', url: 'https://c.test/', title: 'Title https://c.test/' }]);
});
