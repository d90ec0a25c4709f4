/** What the extraction child is asked and what it answers. Plain data: it crosses a process boundary. */
export type ExtractionTask = { kind: 'html'; html: string; url: string } | { kind: 'pdf'; bytes: Uint8Array };

export type ExtractionAnswer =
  | { ok: true; title: string; text: string; extraction: string }
  /** `message` completes "the document ...". */
  | { ok: false; reason: 'unreadable' | 'failed'; message: string };

export type ParentMessage = { id: number; task: ExtractionTask };
export type ChildMessage = { ready: true } | { id: number; answer: ExtractionAnswer };
