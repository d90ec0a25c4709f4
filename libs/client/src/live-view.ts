import type { EventEnvelope } from '#contracts';

/** The text of the model call under way. */
export interface LiveView {
  turn: number;
  attempt: number;
  content: string;
  reasoning: string;
}

/**
 * The next view after an event of `Client.events`; null while no model call is being written. A settlement takes the text away: what is kept
 * of it is in the run.
 */
export function foldLiveView(view: LiveView | null, event: EventEnvelope): LiveView | null {
  switch (event.type) {
    case 'attempt': {
      const textOf = (type: 'content' | 'reasoning'): string => event.parts.map((part) => (part.type === type ? part.content : '')).join('');
      return { turn: event.turn, attempt: event.attempt, content: textOf('content'), reasoning: textOf('reasoning') };
    }
    case 'content':
    case 'reasoning':
      return view && { ...view, [event.type]: view[event.type] + event.content };
    case 'attempt_end':
      return null;
    case 'settlement':
      return view && event.role === 'supervisor' && event.turn === view.turn && event.attempt === view.attempt ? null : view;
    default:
      return view;
  }
}
