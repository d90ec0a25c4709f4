/** What the extraction child is asked and what it answers. Plain data: it crosses a process boundary. */
export type ExtractionTask = { kind: 'html'; html: string; url: string } | { kind: 'pdf'; bytes: Uint8Array };

export type ExtractionAnswer =
  | { ok: true; title: string; text: string; extraction: string }
  /** `message` completes "the document ...". */
  | { ok: false; reason: 'unreadable' | 'failed'; message: string };

/** A child works on one task at a time, so an answer belongs to the task it was given last. */
export type ChildMessage = { ready: true } | { answer: ExtractionAnswer };
