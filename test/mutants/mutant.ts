/** One guard of the engine taken out: a piece of its source replaced in a test process, and the test that must notice. */
export interface Mutant {
  /** What `MUTANT` selects; lower case with hyphens. */
  name: string;
  /** The promise that the guard keeps, as docs/invariants.md numbers it. */
  promise: `Q-${number}` | `S-${number}`;
  /** Source file, from the root of the repository. */
  file: string;
  /** Text that stands exactly once in the file. */
  from: string;
  to: string;
  owner: {
    /** Spec file, from the root of the repository. */
    spec: string;
    /** Part of the title of the test that owns the guard. */
    title: string;
  };
}

/** The source with its guard taken out. Throws when the guard's text is not there exactly once: the mutant must move with its guard. */
export function plant(mutant: Mutant, source: string): string {
  const pieces = source.split(mutant.from);
  if (pieces.length !== 2) throw new Error(`Mutant ${mutant.name}: its text stands ${pieces.length - 1} times in ${mutant.file}, not once. Update test/mutants/mutants/.`);
  return pieces.join(mutant.to);
}
