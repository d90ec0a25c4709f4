/**
 * A root run and those it was resumed from, as the common table expression `chain (id, resumed_from)`; its one parameter is the run's id.
 * Nearly every chain has one link, which costs one look-up by primary key.
 */
export const CHAIN = `WITH RECURSIVE chain (id, resumed_from) AS (SELECT id, resumed_from FROM runs WHERE id = ?
  UNION ALL SELECT r.id, r.resumed_from FROM runs r JOIN chain ON r.id = chain.resumed_from)`;
