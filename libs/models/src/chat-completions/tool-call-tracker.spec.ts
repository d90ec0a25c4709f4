import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TOOL_CALLS_PER_TURN_MAX } from '#contracts';
import { BlockAssembler } from '#domain';
import { BlockWriter } from '../wire/block-writer.ts';
import { ProviderFailures } from '../wire/errors.ts';
import { answerOf, call, callsIn, textIn } from '../testing/ask.ts';
import { chunked, delta, DONE } from '../testing/raw-server.ts';
import { ToolCallTracker } from './tool-call-tracker.ts';

describe('[Q-01] tool calls', () => {
  const finish = [delta({}, 'tool_calls'), DONE];
  it.each<[string, string[], string[]]>([
    [
      'parallel and interleaved',
      [
        delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '' })),
        delta(call({ index: 1, id: 'b' }, { name: 'find', arguments: '' })),
        delta(call({ index: 1 }, { arguments: '{"q"' })),
        delta(call({ index: 0 }, { arguments: '{"u":' })),
        delta(call({ index: 1 }, { arguments: ':2}' })),
        delta(call({ index: 0 }, { arguments: '1}' })),
      ],
      ['a|read|{"u":1}', 'b|find|{"q":2}'],
    ],
    ['index missing, with ids', [delta(call({ id: 'a' }, { name: 'read', arguments: '{"u":' })), delta(call({ id: 'a' }, { arguments: '1}' })), delta(call({ id: 'b' }, { name: 'read', arguments: '{}' }))], ['a|read|{"u":1}', 'b|read|{}']],
    ['index missing, without ids, whole calls one by one', [delta(call({}, { name: 'read', arguments: '{"u":1}' })), delta(call({}, { name: 'read', arguments: '{"u":2}' }))], ['|read|{"u":1}', '|read|{"u":2}']],
    ['index and ids missing in one list', [delta({ tool_calls: [{ function: { name: 'a', arguments: '' } }, { function: { name: 'b', arguments: '' } }] })], ['|a|', '|b|']],
    ['index 0 for all, different ids', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{}' })), delta(call({ index: 0, id: 'b' }, { name: 'read', arguments: '{}' }))], ['a|read|{}', 'b|read|{}']],
    ['index from 1', [delta(call({ index: 1, id: 'a' }, { name: 'read', arguments: '{}' }))], ['a|read|{}']],
    ['id null, blank or the word null', [delta(call({ index: 0, id: null }, { name: 'a', arguments: '{}' })), delta(call({ index: 1, id: ' ' }, { name: 'b', arguments: '{}' })), delta(call({ index: 2, id: 'null' }, { name: 'c', arguments: '{}' }))], ['|a|{}', '|b|{}', '|c|{}']],
    ['one id for two calls', [delta(call({ index: 0, id: 'x:0' }, { name: 'read', arguments: '{"u":1}' })), delta(call({ index: 1, id: 'x:0' }, { name: 'read', arguments: '{"u":1}' }))], ['x:0|read|{"u":1}', 'x:0|read|{"u":1}']],
    ['an id that comes late', [delta(call({ index: 0 }, { name: 'read', arguments: '{' })), delta(call({ index: 0, id: 'a' }, { arguments: '}' }))], ['a|read|{}']],
    ['name in fragments', [delta(call({ index: 0, id: 'a' }, { name: 'read_' })), delta(call({ index: 0 }, { name: 'page', arguments: '' })), delta(call({ index: 0 }, { name: '', arguments: '{}' }))], ['a|read_page|{}']],
    ['name with every fragment', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u"' })), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: ':{}' })), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '}' }))], ['a|read|{"u":{}}']],
    ['arguments as an object', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: { u: 1 } }))], ['a|read|{"u":1}']],
    ['arguments null or empty', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: null })), delta(call({ index: 1, id: 'b' }, { name: 'read', arguments: '' }))], ['a|read|', 'b|read|']],
    ['a finished call sent again', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u":1}' })), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u":1}' }))], ['a|read|{"u":1}']],
    ['equal calls without ids', [delta(call({}, { name: 'read', arguments: '{"u":1}' })), delta(call({}, { name: 'read', arguments: '{"u":1}' }))], ['|read|{"u":1}', '|read|{"u":1}']],
    ['a blank fragment after whole arguments', [delta(call({ index: 0 }, { name: 'read', arguments: '{"u":1}' })), delta(call({ index: 0 }, { name: 'read', arguments: ' \n' }))], ['|read|{"u":1} \n']],
    ['another id with every fragment', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u"' })), delta(call({ index: 0, id: 'b' }, { arguments: ':1}' }))], ['a|read|{"u":1}']],
    ['an entry that says nothing', [delta(call({ index: 0 }, {})), delta(call({ index: 1, id: 'a' }, { name: 'read', arguments: '{}' }))], ['a|read|{}']],
    ['the older function_call', [delta({ function_call: { name: 'read', arguments: '{"u"' } }), delta({ function_call: { arguments: ':1}' } })], ['|read|{"u":1}']],
    ['broken arguments stay raw', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u' }))], ['a|read|{"u']],
  ])('%s', async (_, parts, expected) => {
    const answer = await answerOf(chunked([...parts, ...finish]));
    expect(answer.error).toBeUndefined();
    expect(callsIn(answer)).toEqual(expected);
    expect(answer.finish).toBe('tool-calls');
  });

  it('keeps one compact delta per fragment, with id and name on each', async () => {
    const answer = await answerOf(chunked([delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '' })), delta(call({ index: 0 }, { arguments: '{}' })), ...finish]));
    expect(answer.chunks.filter((chunk) => chunk.type === 'tool-call-delta')).toEqual([
      { type: 'tool-call-delta', index: 0, id: 'a', name: 'read', argumentsDelta: '' },
      { type: 'tool-call-delta', index: 0, id: 'a', name: 'read', argumentsDelta: '{}' },
    ]);
  });

  it('[L21] [L22] of any shape arrive whole, however their fragments are cut and mixed', () => {
    const style = fc.constantFrom('index', 'id', 'both', 'id on the first', 'name on all');
    const calls = fc.array(fc.record({ name: fc.constantFrom('read', 'find'), args: fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)), cuts: fc.array(fc.nat(40), { maxLength: 6 }) }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(calls, style, fc.infiniteStream(fc.nat()), (wanted, how, picks) => {
        const queues = wanted.map(({ args, cuts, name }, position) => {
          const ends = [...cuts.filter((cut) => cut < args.length).sort((left, right) => left - right), args.length];
          return ends.map((end, part) => ({
            ...(how !== 'id' && { index: position }),
            ...((how === 'id' || how === 'both' || (how !== 'index' && part === 0)) && { id: `id-${position}` }),
            function: { ...((part === 0 || how === 'name on all') && { name }), arguments: args.slice(ends[part - 1] ?? 0, end) },
          }));
        });
        const assembler = new BlockAssembler();
        const failures = new ProviderFailures('host', undefined);
        const tracker = new ToolCallTracker(new BlockWriter((chunk) => assembler.push(chunk), failures, 100), failures);
        const order: number[] = [];
        for (let open = queues.filter((queue) => queue.length > 0); open.length > 0; open = queues.filter((queue) => queue.length > 0)) {
          const queue = open[(picks.next().value as number) % open.length] ?? [];
          const position = queues.indexOf(queue);
          if (!order.includes(position)) order.push(position);
          tracker.accept([queue.shift()], false);
        }
        expect(assembler.blocks()).toEqual(order.map((position) => ({ type: 'tool-call', id: how === 'index' ? '' : `id-${position}`, name: wanted[position]?.name, arguments: wanted[position]?.args })));
      }),
      { numRuns: 300 },
    );
  });

  it('win over the finish reason stop, and stand beside text', async () => {
    const answer = await answerOf(chunked([delta({ content: 'I read. ' }), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{}' })), delta({ content: 'Done.' }, 'stop'), DONE]));
    expect(answer.finish).toBe('tool-calls');
    expect([textIn(answer), callsIn(answer)]).toEqual(['I read. Done.', ['a|read|{}']]);
  });

  it('[Q-02] sent again after the finish are dropped, going on after it fails', async () => {
    const whole = call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u":1}' });
    expect(callsIn(await answerOf(chunked([delta(whole), delta({}, 'tool_calls'), delta(whole), DONE])))).toEqual(['a|read|{"u":1}']);
    const more = await answerOf(chunked([delta(whole), delta({}, 'tool_calls'), delta(call({ index: 1, id: 'b' }, { name: 'read', arguments: '{}' })), DONE]));
    expect(more.error?.code).toBe('MODEL_PROTOCOL_ERROR');
  });

  it.each([
    ['index -1', call({ index: -1 }, { name: 'a' })],
    ['index 10^9', call({ index: 1e9 }, { name: 'a' })],
    ['index as text', call({ index: '0' }, { name: 'a' })],
    ['more calls than allowed', { tool_calls: Array.from({ length: TOOL_CALLS_PER_TURN_MAX + 1 }, (_, index) => ({ index, id: `c${index}`, function: { name: 'a', arguments: '{}' } })) }],
    ['arguments too long', call({ index: 0 }, { name: 'a', arguments: 'x'.repeat(1024 * 1024 + 1) })],
    ['an entry that is no object', { tool_calls: ['read'] }],
  ])('[Q-17] [L20] [L26] fail on %s', async (_, member) => {
    expect((await answerOf(chunked([delta(member), ...finish]))).error?.code).toBe('MODEL_PROTOCOL_ERROR');
  });
});
