/** What the model does in one turn: it calls tools, or it ends with a text. */
export type Step = { kind: 'calls'; calls: StepCall[] } | { kind: 'answer'; text: string };

export interface StepCall {
  name: string;
  arguments: Record<string, unknown>;
}

export function callTools(calls: readonly StepCall[]): Step {
  return { kind: 'calls', calls: [...calls] };
}

export function answer(text: string): Step {
  return { kind: 'answer', text };
}
