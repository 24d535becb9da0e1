import { externalAccount } from '../access.ts';
import { forbidden, invalid } from '../failure.ts';
import type { UserRecord } from '../store/users.ts';

/** What makes a user more than others, or nobody. */
type Powers = Pick<UserRecord, 'is_superuser' | 'is_system_auditor' | 'is_active'>;

/** Only a superuser makes superusers and auditors, or deactivates; nobody deactivates oneself. */
export function refuseEscalation(
  caller: UserRecord,
  before: Powers & { readonly id?: number },
  wanted: Powers,
): void {
  const privilege =
    before.is_superuser !== wanted.is_superuser || before.is_system_auditor !== wanted.is_system_auditor;
  const activity = before.is_active !== wanted.is_active;
  if ((privilege || activity) && !caller.is_superuser) throw forbidden();
  if (caller.id === before.id && (activity || (before.is_superuser && !wanted.is_superuser))) {
    throw forbidden('You cannot take your own access away.');
  }
}

/** An identity provider's user gets no password here: with one, the account would count as a local one. */
export function refuseForeignPassword(user: UserRecord, wanted: { readonly password: string | null }): void {
  if (wanted.password !== null && externalAccount(user) !== null) {
    throw invalid({ password: ['The password of this user is kept by an identity provider.'] });
  }
}
