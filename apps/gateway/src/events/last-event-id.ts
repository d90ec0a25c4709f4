import { QuaestorError } from '#contracts';

const SEQ = /^\d{1,10}$/;

/**
 * The last `seq` a reader has seen: the `Last-Event-ID` header, which a browser sends by itself, wins over `?after=`; neither is 0.
 * @throws QuaestorError `LAST_EVENT_ID_INVALID`
 */
export function lastSeenSeq(header: string | undefined, after: string | undefined): number {
  const given = header ?? after;
  if (given === undefined || given === '') return 0;
  if (SEQ.test(given)) return Number(given);
  const param = header === undefined ? 'after' : 'Last-Event-ID';
  throw new QuaestorError('LAST_EVENT_ID_INVALID', `${param} must be the id of an event, a whole number from 0.`, { details: { param } });
}
