import { randomBytes } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isTokenOf } from '../../domain/leased-token.ts';
import { ADOPT_LEASE, type Adoption, fingerprintOf, isOpen } from '../../domain/leases.ts';
import type { Token } from '../../domain/token.ts';
import { Journal } from '../journal/journal.ts';
import { isLeaseHere } from '../journal/recorded-leases.ts';
import { writeRowEnds } from '../leases/row-ends.ts';
import { type RotationOptions, requireMayCreate } from './rotate-consumer.ts';

/**
 * Plans to add a program's existing token to its rotation: from the next rotation on, it is revoked as if
 * tokenctl had created it. Reads only.
 * @throws TokenctlError `unsupported` for a token of an application, `usage` for another user's token and for
 * a consumer that already has tokens, `store_changed` if its store holds a different value.
 */
export async function planAdoption(
  { consumer, store, leases, target, description, signal }: RotationOptions,
  token: Token,
): Promise<Adoption> {
  const { id, application, user, created, expires, scope } = token;
  if (application !== null || user === null) {
    throw new TokenctlError('unsupported', `Token ${id} is not a user's personal token`, {
      hint: 'A rotation creates personal tokens. Change the program, and then revoke this token.',
    });
  }
  requireMayCreate(description, consumer);
  // Over REST, the next token belongs to this context's account.
  const { user: owner = description.identity.username } = consumer;
  if (owner !== user.username) {
    throw new TokenctlError(
      'usage',
      `Token ${id} belongs to ${user.username}, but ${consumer.name} belongs to ${owner}`,
    );
  }
  const known = await leases.read(description);
  const open = known.filter((lease) => isOpen(lease) && isLeaseHere(lease, description));
  const its = open.filter((lease) => isTokenOf(lease, token));
  if (open.some(({ consumer: of }) => of === consumer.name) || its.some(({ sunset }) => sunset === null)) {
    throw new TokenctlError('usage', `${consumer.name} already has a token that is rotated`, {
      hint: 'List them with `tokenctl tokens leases`.',
    });
  }
  const elsewhere = known.find(
    (lease) => isOpen(lease) && lease.row !== null && isTokenOf(lease, token) && !open.includes(lease),
  );
  if (elsewhere !== undefined) {
    const { context } = elsewhere.target;
    throw new TokenctlError('usage', `A sunset has stored the end date of token ${id} in the database`, {
      hint: `Undo that first: \`tokenctl tokens sunset --undo ${elsewhere.sunset} --context ${context}\`.`,
    });
  }
  const stored = await store.read(signal);
  if (stored !== null) {
    const found: number[] = [];
    for await (const { ids } of target.identify([stored])) found.push(...ids);
    if (found.length !== 1 || found[0] !== id) {
      throw new TokenctlError(
        'store_changed',
        `${store.name} contains a value that is not known to be token ${id}`,
        { hint: 'Nothing was changed. `tokenctl tokens find` shows whose it is.' },
      );
    }
  }
  return {
    lease: `lease-${randomBytes(6).toString('hex')}`,
    consumer: consumer.name,
    token: {
      ...{ id, created: created.toISOString(), expires: expires.toISOString() },
      fingerprint: stored === null ? token.fingerprint : fingerprintOf(stored),
    },
    owner: { id: user.id, username: user.username },
    scope,
    releases: its.map(({ id: lease }) => lease),
  };
}

/**
 * Records what {@link planAdoption} found. Changes nothing at the target, except that the end that a sunset
 * wrote into the row is replaced by the old one.
 * @throws TokenctlError `audit_unavailable`
 */
export async function adoptToken(options: RotationOptions, adoption: Adoption): Promise<void> {
  const { token, consumer } = adoption;
  await new Journal({ ...options, operation: ADOPT_LEASE }).note({
    ...adoption,
    selection: `token ${token.id} for ${consumer}`,
  });
  if (adoption.releases.length > 0) await writeRowEnds(options);
}
