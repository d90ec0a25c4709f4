import { MICROCREDITS_PER_CREDIT, QuaestorError, ReservationId, type RunId } from '#contracts';
import type { Quota } from '#database';
import { creditsOf } from '#domain';
import type { CommandContext } from '../context.ts';
import { withRunDatabase, withTenantsDatabase, type DatabaseOption, type TenantsDatabaseOption } from '../run-database.ts';

const toView = ({ tenantId, name, limit, held, spent, overrun }: Quota) => ({
  tenant_id: tenantId,
  name,
  limit: limit === null ? null : creditsOf(limit),
  held: creditsOf(held),
  spent: creditsOf(spent),
  overruns: creditsOf(overrun),
  left: limit === null ? null : creditsOf(limit - held - spent),
});

/** Prints the quota of one tenant, by id or name, or of all, as a JSON array in credits. */
export async function showQuota(context: CommandContext, tenant: string | undefined, options: TenantsDatabaseOption): Promise<number> {
  const quotas = await withTenantsDatabase(context, options, async (sql) => new (await import('#database')).QuotaRepository(sql).list(tenant));
  await context.terminal.print(JSON.stringify(quotas.map(toView), null, 2));
  return 0;
}

/** Sets what a tenant may spend in all, or takes the limit away with null, and prints its quota. Safe to repeat. */
export async function setQuota(context: CommandContext, tenant: string, credits: number | null, options: TenantsDatabaseOption): Promise<number> {
  const limit = credits === null ? null : Math.round(credits * MICROCREDITS_PER_CREDIT);
  const quota = await withTenantsDatabase(context, options, async (sql) => new (await import('#database')).QuotaRepository(sql).set(tenant, limit));
  await context.terminal.print(JSON.stringify(toView(quota), null, 2));
  return 0;
}

/** The true charge of a reservation, in credits. */
interface TrueCharge {
  id: ReservationId;
  credits: number;
}

/** Reads `res_...=1.5`. */
function readCharge(text: string): TrueCharge {
  const [id, credits = ''] = text.split('=', 2);
  const parsed = ReservationId.safeParse(id);
  if (parsed.success && /^\d{1,7}(\.\d{1,6})?$/.test(credits)) return { id: parsed.data, credits: Number(credits) };
  throw new QuaestorError('INVALID_REQUEST', `"${text}" is not a reservation with its credits, such as res_0123456789abcdefghijklmnop=0.5.`);
}

/**
 * Puts true charges, as the provider's bill tells them, in the place of a root run's unknown outcomes, and prints those that are left as a
 * JSON array. All of them are checked before the first is booked.
 * @throws QuaestorError `NOT_FOUND`, `INVALID_REQUEST`
 */
export async function reconcileRun(context: CommandContext, runId: RunId, given: readonly string[], options: DatabaseOption): Promise<number> {
  const charges = given.map(readCharge);
  const left = await withRunDatabase(context, options, runId, async (sql) => {
    const ledgers = new (await import('#database')).LedgerRepository(sql);
    const unknown = new Set((await ledgers.unknownOf(runId)).map(({ id }) => id));
    for (const { id } of charges) if (!unknown.has(id)) throw new QuaestorError('INVALID_REQUEST', `${id} is no unknown outcome of ${runId}: "quaestor reconcile ${runId}" lists them.`);
    for (const { id, credits } of charges) await ledgers.reconcile(id, Math.round(credits * MICROCREDITS_PER_CREDIT));
    return ledgers.unknownOf(runId);
  });
  await context.terminal.print(JSON.stringify(left.map(({ id, operation, estimate, settledAt }) => ({ reservation_id: id, operation, credits: creditsOf(estimate), given_up_at: settledAt })), null, 2));
  return 0;
}
