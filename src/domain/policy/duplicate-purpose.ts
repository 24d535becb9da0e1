import { HashCounter } from '../hash-counter.ts';
import { textHash } from '../text-hash.ts';
import type { Breach, SumRule } from './rule.ts';
import type { Purpose } from './subject.ts';

/**
 * Finds several tokens with one owner, one application and one description. Keeps a hash of 53 bits for each
 * purpose, and what it is only of those that came twice: among a million purposes, two that differ are taken
 * for one once in about ten thousand audits.
 */
export const duplicatePurpose: SumRule = {
  judges: 'sums',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: [],
  help: {
    finds: 'Several access tokens of one user, for one application, with one description.',
    matters: 'Most likely one is in use, and the others were left behind when it was made.',
    remedy: 'Find out by their last use which one it is, and revoke the others.',
    reference: 'NIST SP 800-53 IA-5: authenticators are replaced, not gathered',
  },
  prepare() {
    const counter = new HashCounter();
    const repeated = new Map<number, Purpose>();
    return {
      add({ user, application, description }) {
        if (user === null || description === '') return;
        const hash = textHash(description, Math.imul(user.id, 31) ^ Math.imul(application?.id ?? 0, 8191));
        if (counter.add(hash) === 2) repeated.set(hash, { user, application, description });
      },
      *breaches(): Iterable<Breach> {
        for (const [hash, purpose] of repeated) {
          yield { subject: { kind: 'purpose', purpose }, message: sentence(purpose, counter.count(hash)) };
        }
      },
    };
  },
};

function sentence({ user, application, description }: Purpose, tokens: number): string {
  const place = application === null ? 'personal tokens' : `tokens of ${application.name}`;
  return `${user.username} has ${tokens} ${place} described as "${description}".`;
}
