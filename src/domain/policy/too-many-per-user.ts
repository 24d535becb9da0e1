import type { UserReference } from '../token.ts';
import type { Breach, SumRule } from './rule.ts';
import type { WithTokens } from './setting.ts';

/** Finds users who own more tokens than anybody keeps an eye on. */
export const tooManyPerUser: SumRule<WithTokens> = {
  judges: 'sums',
  defaults: { enabled: true, severity: 'low', tokens: 20, exceptions: [] },
  needs: [],
  help: {
    finds: 'A user who owns more than the given number of access tokens that have not expired.',
    matters: 'Tokens that gather are tokens that nobody ends: each is one more copy to lose.',
    remedy: 'Look at them with tokenctl tokens list --user NAME, and revoke what is not used.',
    reference: 'OWASP Non-Human Identities Top 10, NHI9: NHI reuse',
    parameters: { tokens: 'How many tokens a user may have.' },
  },
  prepare({ setting: { tokens: limit } }) {
    const counts = new Map<number, { readonly user: UserReference; tokens: number }>();
    return {
      add({ user }) {
        if (user === null) return;
        const count = counts.get(user.id);
        if (count === undefined) counts.set(user.id, { user, tokens: 1 });
        else count.tokens += 1;
      },
      *breaches(): Iterable<Breach> {
        for (const { user, tokens } of counts.values()) {
          if (tokens <= limit) continue;
          yield {
            subject: { kind: 'user', user },
            message: `${user.username} owns ${tokens} tokens; the limit is ${limit}.`,
          };
        }
      },
    };
  },
};
