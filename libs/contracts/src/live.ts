/** What a model call has said so far of one kind; neighbours of one kind are one part. */
export interface LivePart {
  type: 'content' | 'reasoning';
  content: string;
}

/** One try of the supervisor's model call, by its place in the run; a later one is always greater. */
export interface AttemptPlace {
  turn: number;
  attempt: number;
}

/** What the loop tells about a model call while it runs: text as it comes, and how the call was settled. */
export type LiveNews = AttemptPlace & (LivePart | { type: 'end'; outcome: LiveOutcome });

/** `committed`: its settlement is a row. `abandoned`: it was not written here, and its text counts for nothing. */
export type LiveOutcome = 'committed' | 'abandoned';

/**
 * A frame of live text between services. Only what the public may see becomes a frame, so `index` is dense over the texts of an attempt.
 * `revision` rises with every frame of a run that one process sends. A `baseline` holds everything before `index`; the first frame of an
 * attempt is an empty one.
 */
export type LiveFrame = AttemptPlace & { revision: number; index: number } & ({ type: 'baseline'; parts: LivePart[] } | LivePart | { type: 'end'; outcome: LiveOutcome });
