import { callIdentity, parseToolCall, RepeatedCalls, type LoadedRun, type ToolPorts, type ToolSpec } from '#domain';
import type { CallInProgress } from './tool-execution.ts';

/**
 * Calls of the newest turn that have no tool message yet, as a claim finds them. An open one is executed again under its own id: every tool
 * is safe to repeat under it, and its reservation is still held, so nothing is paid twice.
 */
export function resumeCalls(loaded: LoadedRun, specs: readonly ToolSpec[], ports: ToolPorts): CallInProgress[] {
  return loaded.calls
    .filter((call) => !call.closed && !call.inherited && call.turn === loaded.run.turn)
    .map((call) => {
      const parsed = parseToolCall(specs, call);
      return {
        toolCallId: call.toolCallId,
        providerCallId: call.providerCallId,
        name: call.name,
        spec: parsed.ok ? parsed.spec : null,
        args: parsed.ok ? parsed.args : null,
        identity: parsed.ok ? callIdentity(parsed.spec, parsed.args, ports) : null,
        reservation: call.reservation,
        deaths: call.deaths,
        rendered: null,
        status: call.status === 'open' ? 'open' : 'settled',
        result: call.result ?? (parsed.ok || call.status !== 'open' ? null : parsed.result),
      };
    });
}

/** The calls this run has made so far, by what they ask for, with what they ended with. */
export function rememberCalls(loaded: LoadedRun, specs: readonly ToolSpec[], ports: ToolPorts): RepeatedCalls {
  const repeats = new RepeatedCalls();
  for (const call of loaded.calls) {
    const parsed = parseToolCall(specs, call);
    if (!parsed.ok) continue;
    const identity = callIdentity(parsed.spec, parsed.args, ports);
    if (call.inherited) {
      // a task may be worth a new worker now that there are credits and time; what that searches and reads again is free
      if (parsed.spec.effect === 'read' && call.result && call.result.kind !== 'error') repeats.inherit(identity, call.result);
      continue;
    }
    repeats.judge({ identity, turn: call.turn, spec: parsed.spec, args: parsed.args });
    if (call.result) repeats.keep(identity, call.result);
  }
  return repeats;
}
