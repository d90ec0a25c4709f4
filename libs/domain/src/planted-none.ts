/** Production's answer to every planted bug: there is none. Tests resolve `#planted` to another module by an import condition. */
export const planted = (_name: string): boolean => false;

/** A place where fault tests may end a process; production passes by. The table of places is in `libs/testing/src/crash-points.ts`. */
export const crashPoint = (_name: string): void => undefined;
