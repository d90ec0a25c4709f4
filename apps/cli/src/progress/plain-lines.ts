import type { EventEnvelope } from '#contracts';
import { printableLine } from '../terminal.ts';

/** One line for a log or a pipe, or undefined for events that only move a live view. */
export function plainLine(event: EventEnvelope): string | undefined {
  const text = describe(event);
  return text === undefined ? undefined : printableLine(text);
}

const who = (worker: number | undefined): string => (worker === undefined ? 'supervisor' : `worker ${worker}`);

function describe(event: EventEnvelope): string | undefined {
  switch (event.type) {
    case 'run_status':
      return `run ${event.status}${event.stop_reason ? `: ${event.stop_reason.replaceAll('_', ' ')}` : ''}`;
    case 'research_status':
      if (event.state === 'in_progress') return `${who(event.worker)}: ${event.activity}`;
      return event.state === 'error' ? `${who(event.worker)}: failed: ${event.activity}` : undefined;
    case 'web_status':
      if (event.status === 'running') return `${who(event.worker)}: ${event.message}`;
      return event.status === 'success' ? undefined : `${who(event.worker)}: ${event.status}: ${event.message}`;
    case 'scratchpad_status':
      if (event.state === 'error') return `${who(event.worker)}: note not kept`;
      if (event.state !== 'completed') return undefined;
      return event.operation === 'append' ? `${who(event.worker)}: kept a finding` : event.operation === 'update' ? `${who(event.worker)}: updated the plan` : undefined;
    case 'source':
      return `${who(event.worker)}: source ${event.title} <${event.url}>`;
    case 'settlement':
      return event.outcome === 'completed' ? undefined : `${who(event.worker)}: attempt ${event.attempt} of turn ${event.turn} ended ${event.outcome}`;
    case 'error':
      return `error: ${event.message}`;
    case 'gap':
      return 'some live updates were missed; the run itself is complete';
    default:
      return undefined;
  }
}
