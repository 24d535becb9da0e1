import { randomUUID } from 'node:crypto';
import { Secret } from '@tokenctl/common/secret.ts';
import type { Token } from '../../../../src/domain/token.ts';
import { fingerprintOf, type MemoryTarget, user } from '../../../support/memory-target.ts';
import { token } from '../../../support/tokens.ts';
import type { Administered, Pair } from './contract-service.ts';

const DAY_MS = 86_400_000;
const ALICE = { id: 2, username: 'alice' };
const PIPELINE = { id: 1, name: 'pipeline' };

/** What an in-memory target administers: the same users and application as {@link ContractService} has, and their clients. */
export class MemoryController implements Administered {
  readonly acceptsInactiveUsers = false;
  readonly #target: MemoryTarget;

  constructor(target: MemoryTarget) {
    this.#target = target;
    const leaver = user(3, 'leaver', { isActive: false });
    target.people.splice(0, target.people.length, user(1, 'admin'), user(2, 'alice'), leaver);
    target.programs.push({ ...PIPELINE, clientType: 'public', grantType: 'password', created: new Date() });
    // The administrator made the application.
    target.stream.push({
      id: 1,
      at: new Date(),
      operation: 'create',
      actor: { id: 1, username: 'admin' },
      object: 'o_auth2_application',
      changes: { id: PIPELINE.id },
    });
  }

  makeTokens(count: number, scope: 'read' | 'write' = 'write'): Promise<number[]> {
    return Promise.resolve(Array.from({ length: count }, () => this.#token({ scope }).id));
  }

  age(tokenId: number, days: number): Promise<void> {
    const found = this.#target.alive.get(tokenId);
    if (found !== undefined) {
      const lastUsed = new Date(Date.now() - days * DAY_MS);
      const created = found.created < lastUsed ? found.created : lastUsed;
      this.#target.alive.set(tokenId, { ...found, lastUsed, created });
    }
    return Promise.resolve();
  }

  makePair(): Promise<Pair> {
    const access = this.#token({ application: PIPELINE, hasRefreshToken: true });
    const value = this.#value('access_token', access.id);
    this.#target.alive.set(access.id, { ...access, fingerprint: fingerprintOf(value) });
    const id = this.#target.nextId();
    const refresh = this.#value('refresh_token', id);
    this.#target.refresh.rows.set(id, {
      ...{ id, user: ALICE, application: PIPELINE, created: new Date(), revoked: null },
      accessTokenId: access.id,
      fingerprint: fingerprintOf(refresh),
    });
    return Promise.resolve({ accessTokenId: access.id, access: new Secret(value), refresh });
  }

  async refreshes(refresh: string): Promise<boolean> {
    const row = this.#target.refresh.rows.get(this.#target.secrets.get(refresh)?.ids[0] ?? 0);
    if (row?.revoked !== null) return false;
    if (row.accessTokenId !== null) this.#target.alive.delete(row.accessTokenId);
    this.#target.refresh.revoke(row, new Date());
    await this.makePair();
    return true;
  }

  accepts(value: Secret): Promise<boolean> {
    const secret = this.#target.secrets.get(value.reveal());
    const found = secret?.kind === 'access_token' ? this.#target.alive.get(secret.ids[0] ?? 0) : undefined;
    const owner = this.#target.people.find(({ id }) => id === found?.user?.id);
    return Promise.resolve(owner?.isActive === true);
  }

  logIn(): Promise<() => Promise<boolean>> {
    const session = {
      user: ALICE,
      created: new Date(),
      expires: new Date(Date.now() + DAY_MS),
      fingerprint: fingerprintOf(randomUUID()),
    };
    this.#target.logins.live.push(session);
    return Promise.resolve(() => Promise.resolve(this.#target.logins.live.includes(session)));
  }

  #token(other: Partial<Token>): Token {
    const id = this.#target.nextId();
    // A moment ago, so that it is before the next instant by a clock of milliseconds too.
    const created = new Date(Date.now() - 1000);
    const expires = new Date(created.getTime() + 365 * DAY_MS);
    const made = token({ id, user: ALICE, created, expires, lastUsed: null, ...other });
    this.#target.alive.set(id, made);
    return made;
  }

  #value(kind: 'access_token' | 'refresh_token', id: number): string {
    const value = `secret-${randomUUID()}`;
    this.#target.secrets.set(value, { kind, ids: [id] });
    return value;
  }
}
