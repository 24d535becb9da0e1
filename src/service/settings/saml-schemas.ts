import { z } from 'zod';
import { certificatePem, checkAddress } from './checks.ts';

const text = z.string().trim().min(1).max(1024);

const certificate = z.string().transform((value, context) => {
  const pem = certificatePem(value);
  if (pem !== null) return pem;
  context.addIssue({ code: 'custom', message: 'Not a certificate in PEM.' });
  return z.NEVER;
});

const identityProvider = z.strictObject({
  entity_id: text,
  /** Unlike a configured issuer it may have a query. */
  url: text.refine(
    (value) => 'value' in checkAddress(value.replace(/\?.*$/s, '')),
    'An https:// URL is wanted.',
  ),
  x509cert: z.union([certificate, z.array(certificate).min(1).max(10)]),
  attr_user_permanent_id: text.optional(),
  attr_username: text.optional(),
  attr_email: text.optional(),
  attr_first_name: text.optional(),
  attr_last_name: text.optional(),
  /** Takes logins that nobody here asked for: no protection against being logged in as somebody else. */
  allow_idp_initiated: z.boolean().optional(),
});

/** `SOCIAL_AUTH_SAML_ENABLED_IDPS`: identity providers by a short name that never changes. */
export const enabledIdps = z.record(
  z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'A short name is wanted.'),
  identityProvider,
);

/** `SOCIAL_AUTH_SAML_SECURITY_CONFIG`: what can be chosen of the protection of messages. */
export const securityConfig = z.strictObject({
  authnRequestsSigned: z.boolean().optional(),
  requestedAuthnContext: z.union([z.literal(false), z.array(text).min(1).max(20)]).optional(),
});

/** An identity provider as it is configured. */
export type SamlIdp = z.infer<typeof identityProvider>;
/** See {@link securityConfig}. */
export type SamlSecurity = z.infer<typeof securityConfig>;
