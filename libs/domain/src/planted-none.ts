/** Production's answer to every planted bug: there is none. Tests resolve `#planted` to another module by an import condition. */
export const planted = (_name: string): boolean => false;
