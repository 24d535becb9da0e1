/** Groups that users are members and administrators of. */
export type GroupKind = 'organization' | 'team';

export interface Group {
  readonly kind: GroupKind;
  readonly id: number;
  readonly name: string;
  /** The name of a team's organization: several may have a team of one name. Null for an organization. */
  readonly organization: string | null;
}

/** The unique name of an organization or team: `Eng`, `Eng/Ops`. */
export function fullName({ name, organization }: Group): string {
  return organization === null ? name : `${organization}/${name}`;
}

const ROLES = ['Admin', 'Member'];

/**
 * The names of the managed role definitions that make a user a member or an administrator of an organization
 * or team, in the newer role tables [seen on 24.6.1 and gateways]. A controller behind a gateway has its own
 * with a longer name [code of AWX].
 */
export const MEMBERSHIP_ROLES: Readonly<Record<GroupKind, readonly string[]>> = {
  organization: ROLES.flatMap((role) => [`Organization ${role}`, `Controller Organization ${role}`]),
  team: ROLES.flatMap((role) => [`Team ${role}`, `Controller Team ${role}`]),
};
