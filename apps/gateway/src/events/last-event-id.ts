import { QuaestorError, type RunId } from '#contracts';

const POSITION = /^(?:(run_\w{1,64}):)?(\d{1,10})$/;

/**
 * The last `seq` a reader has seen: the `Last-Event-ID` header, which a browser sends by itself, wins over `?after=`; neither is 0. A number is a
 * place in the run that is asked for, as numbers of runs cannot be told apart; a reader of many runs may send `RUN_ID:SEQ`, which is refused
 * for any other run.
 * @throws QuaestorError `LAST_EVENT_ID_INVALID`
 */
export function lastSeenSeq(runId: RunId, header: string | undefined, after: string | undefined): number {
  const given = header ?? after;
  if (given === undefined || given === '') return 0;
  const [, ofRun, seq] = POSITION.exec(given) ?? [];
  const param = header === undefined ? 'after' : 'Last-Event-ID';
  if (seq === undefined) throw new QuaestorError('LAST_EVENT_ID_INVALID', `${param} must be the id of an event, a whole number from 0.`, { details: { param } });
  if (ofRun !== undefined && ofRun !== runId) throw new QuaestorError('LAST_EVENT_ID_INVALID', `${param} names an event of another run.`, { details: { param } });
  return Number(seq);
}
