import { z } from 'zod';
import { readMetadata } from '../sso/saml-import.ts';
import { certificatePem, checkAddress } from './checks.ts';

const MAX_LENGTH = 1000;

const pattern = z
  .string()
  .min(1)
  .max(MAX_LENGTH)
  .refine((text) => !text.startsWith('/') || compiled(text) !== null, 'Not a valid regular expression.');

const values = z.union([
  z.string().min(1).max(MAX_LENGTH),
  z.array(z.string().min(1).max(MAX_LENGTH)).max(MAX_LENGTH),
]);

/**
 * Which users match: all (true), none (false), no change (null), those with these names or email addresses
 * (or matching a `/regular expression/`), or those with one of the values in an attribute or claim.
 */
const expression = z.union([
  z.null(),
  z.boolean(),
  pattern,
  z.array(pattern).max(MAX_LENGTH),
  z.record(z.string().min(1).max(MAX_LENGTH), values),
]);

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
  is_superuser_attr: z.string().min(1).max(MAX_LENGTH).optional(),
  is_superuser_value: values.optional(),
  remove_superusers: z.boolean().optional(),
  is_system_auditor_attr: z.string().min(1).max(MAX_LENGTH).optional(),
  is_system_auditor_value: values.optional(),
  remove_system_auditors: z.boolean().optional(),
});

/** `…_ORGANIZATION_MAP`: organizations by name, with the users for each role. */
export const organizationMap = z.record(z.string().trim().min(1).max(512), organization);
/** `…_TEAM_MAP`: teams by name; their users become members of the team and of its organization. */
export const teamMap = z.record(z.string().trim().min(1).max(512), team);
/** `…_USER_FLAGS_BY_ATTR`: which attributes make a superuser or a system auditor. */
export const userFlags = flags;

export const ORGANIZATION_EXAMPLE = {
  Operations: { admins: ['lead@example.org'], users: '/@example\\.org$/i', remove_users: true },
  Research: { users: { groups: ['research', 'research-guests'] } },
};
export const TEAM_EXAMPLE = { Night: { organization: 'Operations', users: { groups: ['night'] } } };

export type OrganizationMap = z.infer<typeof organizationMap>;
export type TeamMap = z.infer<typeof teamMap>;
export type UserFlags = z.infer<typeof userFlags>;

/** The regular expression between slashes; null if there is none or it is invalid. */
export function compiled(text: string): RegExp | null {
  const [, source, flagLetters] = /^\/(.*)\/([ims]*)$/s.exec(text) ?? [];
  if (source === undefined) return null;
  try {
    return new RegExp(source, flagLetters);
  } catch {
    return null;
  }
}

const text = z.string().trim().min(1).max(1024);

const MAX_CERTIFICATES = 10;

/** One certificate, or a list during a certificate change. */
const certificates = z.unknown().transform((value, context): string | string[] => {
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  const pems = given.map((one) => (typeof one === 'string' ? certificatePem(one) : null));
  const broken = pems.indexOf(null);
  const fail = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (value === undefined) return fail('A certificate is required.');
  if (given.length === 0 || given.length > MAX_CERTIFICATES) return fail('Expected one to ten certificates.');
  if (broken !== -1) {
    return fail(
      `${Array.isArray(value) ? `Number ${broken + 1} is not` : 'Not'} a certificate in PEM or base64.`,
    );
  }
  return Array.isArray(value) ? (pems as string[]) : String(pems[0]);
});

/** Unlike a configured issuer, it may have a query. */
const addressWithQuery = text.refine(
  (value) => 'value' in checkAddress(value.replace(/\?.*$/s, '')),
  'Expected an https:// URL.',
);

const identityProvider = z.strictObject({
  entity_id: text,
  url: addressWithQuery,
  x509cert: certificates,
  /** The single logout service, with the redirect binding. */
  logout_url: addressWithQuery.optional(),
  /** The name on the button; by default the short name. */
  label: text.max(100).optional(),
  /** The requested NameID format. A permanent one identifies users. */
  name_id_format: z.enum(['persistent', 'email', 'none']).optional(),
  /** Where the metadata was imported from. */
  metadata_url: addressWithQuery.optional(),
  attr_user_permanent_id: text.optional(),
  attr_username: text.optional(),
  attr_email: text.optional(),
  attr_first_name: text.optional(),
  attr_last_name: text.optional(),
  /** Accepts logins without a request from this service, which gives up the protection against login CSRF. */
  allow_idp_initiated: z.boolean().optional(),
});

/** An identity provider, or its metadata instead of the values that the metadata contains. */
const importedOrGiven = z
  .unknown()
  .transform((value, context) => {
    if (typeof value !== 'object' || value === null) return value;
    if (!('metadata' in value)) {
      if (!('metadata_url' in value) || 'url' in value || 'x509cert' in value) return value;
      const message = 'metadata_url is read only when it is set over the API. Put the XML in metadata.';
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
    const { metadata, ...given } = value as { metadata: unknown; entity_id?: unknown };
    const entityId = typeof given.entity_id === 'string' ? given.entity_id.trim() : '';
    try {
      return { ...readMetadata(typeof metadata === 'string' ? metadata : '', entityId), ...given };
    } catch (error) {
      context.addIssue({
        code: 'custom',
        message: error instanceof Error ? error.message : 'Invalid metadata.',
      });
      return z.NEVER;
    }
  })
  .pipe(identityProvider);

/** `SOCIAL_AUTH_SAML_ENABLED_IDPS`: identity providers by a short name that never changes. */
export const enabledIdps = z.record(
  z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'Expected 1 to 64 letters, digits, hyphens or underscores.'),
  importedOrGiven,
);

/** `SOCIAL_AUTH_SAML_SECURITY_CONFIG`: the configurable protection of SAML messages. */
export const securityConfig = z.strictObject({
  authnRequestsSigned: z.boolean().optional(),
  requestedAuthnContext: z.union([z.literal(false), z.array(text).min(1).max(20)]).optional(),
  /** `false` accepts signatures with SHA-1. The name is that of the controller's library. */
  rejectDeprecatedAlgorithm: z.boolean().optional(),
});

export type SamlIdp = z.infer<typeof identityProvider>;
export type SamlSecurity = z.infer<typeof securityConfig>;
