import type { EventEnvelope } from '#contracts';

type ScratchpadEvent = Extract<EventEnvelope, { type: 'scratchpad_status' }>;

export interface Markers {
  /** Written by the supervisor. */
  seed: string;
  /** Written by worker A, acknowledged by worker B. */
  marker: string;
}

/** What must be seen, in this order. */
export const SEVEN_STEPS = [
  'the supervisor wrote the seed',
  'worker A read the seed',
  'worker A appended its own marker in the same delegation',
  "the supervisor read worker A's marker",
  "another worker B read the seed and worker A's marker",
  'worker B appended the matching acknowledgement',
  'the supervisor read marker and acknowledgement',
] as const;

/** A proof: who did it, and the texts it must show. `actor` undefined stands for the supervisor. */
interface Proof {
  actor: number | undefined;
  does: 'read' | 'write';
  texts: string[];
}

/**
 * The first of the seven steps that is not proven, or null. Only `scratchpad_status` events of state `success` count, in their order. A
 * worker's event counts only between the opening and the end of its one delegation, by `research_status`. Worker A is who wrote the
 * marker, worker B who acknowledged it.
 */
export function firstMissingStep(events: readonly EventEnvelope[], { seed, marker }: Markers): string | null {
  const [seedText, markerText, acknowledgement] = [`SEED-${seed}`, `MARKER-${marker}`, `ACK-${marker}`];
  const workerA = writerOf(events, markerText);
  const workerB = writerOf(events, acknowledgement);
  if (workerA === undefined) return SEVEN_STEPS[2];
  if (workerB === undefined || workerB === workerA) return SEVEN_STEPS[5];
  const proofs: Proof[] = [
    { actor: undefined, does: 'write', texts: [seedText] },
    { actor: workerA, does: 'read', texts: [seedText] },
    { actor: workerA, does: 'write', texts: [markerText] },
    { actor: undefined, does: 'read', texts: [markerText] },
    { actor: workerB, does: 'read', texts: [seedText, markerText] },
    { actor: workerB, does: 'write', texts: [acknowledgement] },
    { actor: undefined, does: 'read', texts: [markerText, acknowledgement] },
  ];
  return SEVEN_STEPS[provenInOrder(events, proofs)] ?? null;
}

const isSuccess = (event: EventEnvelope): event is ScratchpadEvent & EventEnvelope => event.type === 'scratchpad_status' && event.state === 'success';

const writerOf = (events: readonly EventEnvelope[], text: string): number | undefined =>
  events.filter(isSuccess).find((event) => event.origin === 'research_worker' && event.entry?.includes(text))?.worker;

function provenInOrder(events: readonly EventEnvelope[], proofs: readonly Proof[]): number {
  const open = new Set<number>();
  let proven = 0;
  for (const event of events) {
    if (event.type === 'research_status' && event.worker !== undefined) {
      if (event.state === 'in_progress') open.add(event.worker);
      else open.delete(event.worker);
    }
    const proof = proofs[proven];
    if (proof !== undefined && isSuccess(event) && proves(event, proof) && (proof.actor === undefined || open.has(proof.actor))) proven++;
  }
  return proven;
}

function proves(event: ScratchpadEvent, { actor, does, texts }: Proof): boolean {
  const isActor = event.worker === actor && event.origin === (actor === undefined ? 'supervisor' : 'research_worker');
  const shown = (does === 'read' ? event.content : event.entry) ?? '';
  return isActor && (event.operation === 'read') === (does === 'read') && texts.every((text) => shown.includes(text));
}
