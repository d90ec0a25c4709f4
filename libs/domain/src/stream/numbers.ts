/** A block index: a non-negative safe integer, and not -0 (which JSON would turn into 0). */
export const isBlockIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0);

/** True when `previous + gap` gives `next` back exactly, so that a time can be stored as a gap. */
export const isExactGap = (previous: number, gap: number, next: number): boolean => Number.isSafeInteger(gap) && previous + gap === next;
