import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import { externalAccount } from './access.ts';
import { forbidden, invalid, type RequestFailure } from './failure.ts';
import type { UserRecord } from './store/users.ts';

interface FieldChange {
  readonly caller: UserRecord;
  /** The user that is changed; missing for other objects and for a new user. */
  readonly user?: UserRecord;
  /** Whether that user has roles that the caller does not have and so cannot grant. */
  readonly hasForeignRoles?: boolean;
  readonly from: unknown;
  readonly to: unknown;
}

interface FieldRule {
  /** For the documentation. */
  readonly who: string;
  /** Why a change is refused, or null. */
  readonly refuses: (change: FieldChange) => RequestFailure | null;
}

/** The scope write includes read, as on the controller. */
const mayWrite = (scope: unknown) => allowsWriting({ scope: String(scope) });

const isOther = ({ caller }: FieldChange) => !caller.is_superuser;

function superusersOnly(refusal: () => RequestFailure): FieldRule {
  return { who: 'superusers', refuses: (change) => (isOther(change) ? refusal() : null) };
}

/** Superusers may, but not take away their own access. */
function superusersOfOthers(isLost: (to: unknown) => boolean): FieldRule {
  return {
    who: 'superusers, but they cannot remove it from themselves',
    refuses: (change) => {
      const { caller, user, to } = change;
      if (isOther(change)) return forbidden();
      return caller.id === user?.id && isLost(to) ? forbidden('You cannot remove your own access.') : null;
    },
  };
}

/** The fields that not everyone who may change the object may set. Each rule prevents an escalation of rights. */
export const FIELD_RULES: Readonly<Record<string, Readonly<Record<string, FieldRule>>>> = {
  user: {
    is_superuser: superusersOfOthers((to) => to === false),
    is_system_auditor: superusersOnly(forbidden),
    is_active: superusersOfOthers(() => true),
    password: {
      who: "everyone, for local accounts; another user's password only with all of that user's roles",
      refuses: ({ caller, user, hasForeignRoles = false }) => {
        if (user === undefined) return null;
        if (externalAccount(user) !== null) {
          return invalid({ password: ['The password of this user is managed by an identity provider.'] });
        }
        // A caller who sets a password can log in with it and gets the user's roles.
        return caller.is_superuser || caller.id === user.id || !hasForeignRoles
          ? null
          : forbidden('This user has roles that you cannot assign. Only a superuser can set the password.');
      },
    },
  },
  organization: {
    max_hosts: superusersOnly(() => invalid({ __all__: ['Only superusers can change max_hosts.'] })),
  },
  team: {
    organization: {
      who: 'superusers',
      refuses: (change) =>
        change.from !== null && isOther(change)
          ? forbidden('Unable to change organization on a team.')
          : null,
    },
  },
  o_auth2_application: {
    skip_authorization: {
      who: 'superusers; others can only turn it off',
      // Without a consent page, a link is enough to get a code of every user who follows it.
      refuses: (change) =>
        change.to === true && isOther(change)
          ? forbidden('Only superusers can let an application skip the consent page.')
          : null,
    },
  },
  o_auth2_access_token: {
    scope: {
      who: 'everyone, but only to a narrower scope',
      // Someone else may have the token's value, and would get the wider scope.
      refuses: ({ from, to }) =>
        mayWrite(to) && !mayWrite(from)
          ? invalid({ scope: ['The scope of a token can only be narrowed. Create another token.'] })
          : null,
    },
  },
};

/** Refuses changed values that the caller may not set, although they may change the object. Throws 400 or 403. */
export function requireFieldRights(
  type: string,
  { before, after, ...who }: Omit<FieldChange, 'from' | 'to'> & { before: object; after: object },
): void {
  const [from, to] = [before, after].map((values) => values as Readonly<Record<string, unknown>>);
  for (const [field, { refuses }] of Object.entries(FIELD_RULES[type] ?? {})) {
    if (to?.[field] === undefined || from?.[field] === to[field]) continue;
    const refusal = refuses({ ...who, from: from?.[field], to: to[field] });
    if (refusal !== null) throw refusal;
  }
}
