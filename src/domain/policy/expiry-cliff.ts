import { expiresNever } from './never-expires.ts';
import { type Breach, DAY, type SumRule } from './rule.ts';
import type { WithShare } from './setting.ts';

/** Finds days on which many tokens expire together: the day on which everything stops. */
export const expiryCliff: SumRule<WithShare> = {
  judges: 'sums',
  defaults: { enabled: true, severity: 'low', tokens: 20, percent: 10, exceptions: [] },
  needs: [],
  help: {
    finds: 'A day (UTC) on which many access tokens expire: at least that many, and at least that share.',
    matters: 'Tokens that were made together end together, and so does what runs with them.',
    remedy: 'Replace some of them earlier. tokenctl tokens notices tells their owners in time.',
    reference: 'NIST SP 800-57 part 1, section 5.3: cryptoperiods are planned',
    parameters: {
      tokens: 'How many tokens must expire on one day.',
      percent: 'Which share of the tokens that have not expired that must be.',
    },
  },
  prepare({ setting: { tokens: atLeast, percent }, facts }) {
    const days = new Map<number, number>();
    let live = 0;
    return {
      add(token) {
        live += 1;
        if (expiresNever(token, facts.now)) return;
        const day = Math.floor(token.expires.getTime() / DAY);
        days.set(day, (days.get(day) ?? 0) + 1);
      },
      *breaches(): Iterable<Breach> {
        for (const [number, tokens] of [...days].sort(([one], [other]) => one - other)) {
          if (tokens < atLeast || tokens * 100 < live * percent) continue;
          const day = new Date(number * DAY).toISOString().slice(0, 10);
          const share = Math.round((tokens * 100) / live);
          yield {
            subject: { kind: 'day', day },
            message: `${tokens} tokens expire on ${day}, ${share} % of those that have not expired.`,
          };
        }
      },
    };
  },
};
