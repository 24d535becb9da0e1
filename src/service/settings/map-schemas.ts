import { z } from 'zod';

const LONGEST = 1000;

const pattern = z
  .string()
  .min(1)
  .max(LONGEST)
  .refine((text) => !text.startsWith('/') || compiled(text) !== null, 'Not a valid regular expression.');

const values = z.union([
  z.string().min(1).max(LONGEST),
  z.array(z.string().min(1).max(LONGEST)).max(LONGEST),
]);

/**
 * Who is meant: everybody, nobody, nobody named (null: no change), names and addresses (or `/expressions/`
 * over them), or whoever has one of the values in an attribute or claim.
 */
const expression = z.union([
  z.null(),
  z.boolean(),
  pattern,
  z.array(pattern).max(LONGEST),
  z.record(z.string().min(1).max(LONGEST), values),
]);

/** Who is meant by an entry of a map. */
export type Expression = z.infer<typeof expression>;

const organization = z.strictObject({
  organization_alias: z.string().trim().min(1).max(512).optional(),
  users: expression.optional(),
  admins: expression.optional(),
  auditors: expression.optional(),
  remove: z.boolean().optional(),
  remove_users: z.boolean().optional(),
  remove_admins: z.boolean().optional(),
  remove_auditors: z.boolean().optional(),
});

const team = z.strictObject({
  organization: z.string().trim().min(1).max(512),
  users: expression.optional(),
  remove: z.boolean().optional(),
});

const flags = z.strictObject({
  is_superuser_attr: z.string().min(1).max(LONGEST).optional(),
  is_superuser_value: values.optional(),
  remove_superusers: z.boolean().optional(),
  is_system_auditor_attr: z.string().min(1).max(LONGEST).optional(),
  is_system_auditor_value: values.optional(),
  remove_system_auditors: z.boolean().optional(),
});

/** `…_ORGANIZATION_MAP`: organizations by name, with who has which role in them. */
export const organizationMap = z.record(z.string().trim().min(1).max(512), organization);
/** `…_TEAM_MAP`: teams by name; the service has no teams, and makes their users members of the organization. */
export const teamMap = z.record(z.string().trim().min(1).max(512), team);
/** `…_USER_FLAGS_BY_ATTR`: which attributes make a superuser or a system auditor. */
export const userFlags = flags;

/** An example of an organization map. */
export const ORGANIZATION_EXAMPLE = {
  Operations: { admins: ['lead@example.org'], users: '/@example\\.org$/i', remove_users: true },
  Research: { users: { groups: ['research', 'research-guests'] } },
};
/** An example of a team map. */
export const TEAM_EXAMPLE = { Night: { organization: 'Operations', users: { groups: ['night'] } } };

/** See {@link organizationMap}. */
export type OrganizationMap = z.infer<typeof organizationMap>;
/** See {@link teamMap}. */
export type TeamMap = z.infer<typeof teamMap>;
/** See {@link userFlags}. */
export type UserFlags = z.infer<typeof userFlags>;

/** The regular expression that a text between slashes stands for, or null: for none, or a wrong one. */
export function compiled(text: string): RegExp | null {
  const [, source, flagLetters] = /^\/(.*)\/([ims]*)$/s.exec(text) ?? [];
  if (source === undefined) return null;
  try {
    return new RegExp(source, flagLetters);
  } catch {
    return null;
  }
}
