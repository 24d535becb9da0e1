import { describe } from 'vitest';
import type { TargetDescription } from '../../../../src/operations/ports/target.ts';
import { databaseDescription, description, MemoryTarget } from '../../../support/memory-target.ts';
import { MemoryController } from './memory-controller.ts';
import { all, type Place, targetContract } from './target-contract.ts';

/** The description of a REST API or a database, in the contract's context. */
const REST = description({ context: 'contract', credential: 'password' });
const DATABASE: TargetDescription = { ...databaseDescription(), context: 'contract' };

function opened(self: TargetDescription): MemoryTarget {
  return Object.assign(new MemoryTarget(), { self, now: () => new Date() });
}

/** What is the same for both. */
function placeOf(target: MemoryTarget): Omit<Place, 'withToken' | 'strangers' | 'cannot'> {
  const identity = { ...target.self.identity, isSuperuser: false, isSystemAuditor: false };
  return {
    service: new MemoryController(target),
    target,
    limited: opened({ ...target.self, identity, credential: 'password' }),
    expected: target.self,
  };
}

function overRest(): Place {
  const target = opened(REST);
  const signedIn = (tokenId: number) =>
    Object.assign(opened({ ...REST, credential: 'token' }), { alive: target.alive, own: [tokenId] });
  const stranger = signedIn(987_654);
  return {
    ...placeOf(target),
    strangers: [() => stranger.describe(), () => all(stranger.revoke([1]))],
    withToken: async () => {
      const { token } = await target.createToken({ scope: 'write', description: 'own' });
      return { target: signedIn(token.id), tokenId: token.id };
    },
    cannot: {
      'create a token for another user': () =>
        target.createToken({ scope: 'read', description: '', user: 'alice' }),
    },
  };
}

function inDatabase(): Place {
  const target = opened(DATABASE);
  return {
    ...placeOf(target),
    // A role that may not connect gets no target.
    strangers: [],
    withToken: null,
    cannot: { 'create a token for nobody': () => target.createToken({ scope: 'read', description: '' }) },
  };
}

describe('the tests’ target in memory, as a REST API', () => {
  const place = overRest();
  targetContract(() => place, { ...REST.capabilities, refreshTokens: false, sessions: false });
});

describe('the tests’ target in memory, as a database', () => {
  const place = inDatabase();
  targetContract(() => place, { ...DATABASE.capabilities, refreshTokens: true, sessions: true });
});
