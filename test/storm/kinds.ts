/** A kind of scripted run. Its first words are the script that the model server plays; every run of a kind must fold to the same bytes. */
export interface RunKind {
  name: string;
  /** `name(parameters)`, as the model server reads it. */
  script: string;
  /** Cancelled once both of its workers wait for a model that says nothing any more. Default false. */
  isCancelled?: boolean;
}

/** In the order in which they take turns. */
export const RUN_KINDS: readonly RunKind[] = [
  { name: 'happy', script: 'happy()' },
  { name: 'two workers', script: 'bench(n2,k4,t30,m60,e20,d6)' },
  { name: 'failing provider', script: 'flaky()' },
  { name: 'four workers', script: 'bench(n4,k3,t15,m40,e12,d10)' },
  { name: 'failing worker', script: 'worker-failure(partial=c0ffee)' },
  { name: 'shared notes', script: 'seven-evidence(seed=0123456789abcdef,marker=fedcba9876543210)' },
  { name: 'cancelled', script: 'stalled()', isCancelled: true },
];

export const kindOf = (index: number): RunKind => RUN_KINDS[index % RUN_KINDS.length]!;
