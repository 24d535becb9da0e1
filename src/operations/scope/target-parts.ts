import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Target } from '../ports/target.ts';

/** The parts that a target may lack. */
export type OptionalPart = 'refreshTokens' | 'authorizationCodes' | 'sessions' | 'passwords' | 'roles';

/** What is impossible without the part, as the start of a sentence. */
const LACKS: Readonly<Record<OptionalPart, string>> = {
  refreshTokens: 'Refresh tokens can be neither listed nor revoked',
  authorizationCodes: 'Authorization codes can be neither listed nor deleted',
  sessions: 'Sessions can be neither listed nor ended',
  passwords: 'Passwords are not changed',
  roles: 'Roles are not changed',
};

/** A part that the caller planned to use. Throws `unsupported`, with what to use instead. */
export function partOf<Part extends OptionalPart>(target: Target, part: Part): NonNullable<Target[Part]> {
  const found = target[part];
  if (found === undefined) throw partMissing(target, part);
  return found;
}

export function partMissing({ identifies }: Pick<Target, 'identifies'>, part: OptionalPart): TokenctlError {
  if (identifies === 'by_trying') {
    return lacking(
      part,
      'over the REST API',
      'Use a database context. To create one: `tokenctl context add NAME --database-file FILE`.',
    );
  }
  if (part === 'passwords' || part === 'roles') {
    return lacking(part, 'in a database', 'Use --deactivate to deactivate the user, which ends both.');
  }
  const hint = "Run `tokenctl context check`, which lists the role's missing permissions.";
  return lacking(part, "with this role's permissions", hint);
}

function lacking(part: OptionalPart, where: string, hint: string): TokenctlError {
  return notPossible(`${LACKS[part]} ${where}`, hint);
}

/** The error for a planned operation that the target cannot do; the hint says what to use instead. */
export function notPossible(message: string, hint: string): TokenctlError {
  return new TokenctlError('unsupported', message, { hint });
}

/** The error for a superuser who must stay active. */
export function lastSuperuser(userId: number): TokenctlError {
  return new TokenctlError(
    'lockout_refused',
    `User ${userId} is the only active superuser and stays active`,
    { hint: 'Make another user a superuser first.', details: { userId } },
  );
}
