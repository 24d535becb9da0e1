import { TokenctlError } from '@tokenctl/common/errors.ts';
import { someOf } from '@tokenctl/common/text.ts';
import type { LocalMeasures, LockdownScope } from '../../domain/incident/incident.ts';
import type { LocalAccessPlan } from '../../operations/incident/end-local-access.ts';
import { countText } from '../../reports/tables/text.ts';
import type { LocalFlags } from '../flags/flags.ts';
import { lockdownForm, scopeFlags } from './incident-flags.ts';

/** The measures from the flags. Throws `usage` for a selection that does not allow them. */
export function localMeasures(flags: LocalFlags, kind: LockdownScope['kind']): LocalMeasures {
  const asked = (['reset-password', 'strip-roles', 'end-applications'] as const).filter(
    (name) => flags[name] === true,
  );
  const wrong = asked.find((name) => !lockdownForm.fields[name].scopes?.includes(scopeFlags[kind]));
  if (wrong !== undefined) {
    throw new TokenctlError('usage', `--${wrong} cannot be used with this selection`, {
      hint:
        wrong === 'end-applications'
          ? 'Use --user or --application to select tokens.'
          : 'Use --user to select users.',
    });
  }
  return {
    ...(flags['reset-password'] === true && { resetPasswords: true }),
    ...(flags['strip-roles'] === true && { stripRoles: true }),
    ...(flags['end-applications'] === true && { endApplications: true }),
  };
}

/** The maximum number of roles or applications to name. */
const SHOWN = 12;

/** The planned steps: before tokens are revoked, and after. */
export function localSteps(plan: LocalAccessPlan): {
  readonly before: readonly string[];
  readonly after: readonly string[];
} {
  const { passwords, roles, applications, applicationsKept } = plan;
  const held = roles.filter(({ before }) => before === true);
  return {
    before: [
      ...(passwords.length > 0
        ? [
            `Set a random password for ${someOf(
              passwords.map(({ username }) => username),
              SHOWN,
            )}, which is not stored.`,
          ]
        : []),
      ...(held.length > 0
        ? [
            `Take ${countText(held.length, 'role')}: ${someOf(
              held.map(({ name }) => name),
              SHOWN,
            )}.`,
          ]
        : []),
    ],
    after: [
      ...applications.map(
        ({ id, name, accessTokens }) =>
          `Delete the application ${name} (ID ${id}) with ${countText(accessTokens, 'access token')}. This cannot be undone.`,
      ),
      ...applicationsKept.map(
        ({ id, name, othersTokens }) =>
          `Keep the application ${name} (ID ${id}): other users have ${countText(othersTokens, 'access token')} of it.`,
      ),
    ],
  };
}

/** A note if there are no roles to remove. */
export function noRolesText({ stripRoles }: LocalMeasures, { roles }: LocalAccessPlan): string | false {
  return stripRoles === true && roles.length === 0 && 'There are no roles to take from these users.';
}
