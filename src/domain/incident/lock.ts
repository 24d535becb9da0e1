/** A value that a lockdown sets: a switch, or a number of seconds. */
export type LockValue = boolean | number;

/** One thing that a lockdown sets, with the value that was there before. */
export interface Lock {
  readonly what: 'setting' | 'user';
  /** The setting, in the controller's name (`OAUTH2_PROVIDER.` before those in there); or the user's name. */
  readonly name: string;
  /** Of a user. */
  readonly userId?: number;
  /** Of a user whether active. */
  readonly before: LockValue;
  readonly locked: LockValue;
}

/** Names what a lock sets: the same for every incident that sets it. */
export function lockKey({ what, name, userId }: Omit<Lock, 'before' | 'locked'>): string {
  return what === 'user' ? `user:${userId}` : `setting:${name}`;
}

/** The locks that stand in an entry of the audit log; what is none is left out. */
export function locksIn(data: Readonly<Record<string, unknown>>): Lock[] {
  const { locks } = data;
  return Array.isArray(locks) ? locks.filter(isLock) : [];
}

function isLock(value: unknown): value is Lock {
  if (typeof value !== 'object' || value === null) return false;
  const { what, name, userId, before, locked } = value as Readonly<Record<string, unknown>>;
  return (
    (what === 'setting' || (what === 'user' && Number.isSafeInteger(userId))) &&
    typeof name === 'string' &&
    isLockValue(before) &&
    isLockValue(locked)
  );
}

function isLockValue(value: unknown): value is LockValue {
  return typeof value === 'boolean' || typeof value === 'number';
}
