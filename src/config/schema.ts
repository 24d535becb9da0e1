import { z } from 'zod';
import { type RuleName, severities } from '../core/policy/policy.ts';

const secretReference = z
  .union([z.strictObject({ file: z.string().min(1) }), z.strictObject({ env: z.string().min(1) })], {
    error: 'names where the secret is: { file: PATH } or { env: VARIABLE }',
  })
  .describe('Where a secret is kept. The configuration never holds the secret itself.');

const url = z.string().superRefine((value, { addIssue }) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined;
  if (parsed === undefined && /^https?:\/\//i.test(value)) {
    addIssue(unreadableUrl(value));
  } else if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    addIssue('must be a URL that starts with https:// or http://');
  } else if (parsed.username !== '' || parsed.password !== '') {
    addIssue('must not hold a user name or password: use username, password or token');
  } else if (parsed.search !== '' || parsed.hash !== '') {
    addIssue('must be a base URL, without a query or fragment');
  }
});

/** What makes a URL unreadable although it starts like one. */
function unreadableUrl(value: string): string {
  const [, port] = /^[^:]+:\/\/[^/?#]*:([^/?#:\]]*)(?:[/?#]|$)/.exec(value) ?? [];
  return port !== undefined && !(/^\d+$/.test(port) && Number(port) <= 65_535)
    ? 'must be a URL, and its port is not one: ports go from 1 to 65535'
    : 'must be a URL, and its host name cannot be read';
}

const context = z
  .strictObject({
    url,
    username: z.string().min(1).optional(),
    token: secretReference.optional(),
    password: secretReference.optional(),
    caFile: z.string().min(1).optional(),
    verifyTls: z.boolean().optional(),
  })
  .superRefine(({ token, password, username }, { addIssue }) => {
    if (token !== undefined && password !== undefined) addIssue('has both a token and a password: keep one');
    if (password !== undefined && username === undefined) addIssue('has a password and no username');
  });

const rule = z.strictObject({
  enabled: z.boolean().optional(),
  severity: z.enum(severities).optional(),
});
const ruleWithDays = rule.extend({
  days: z.number().positive('must be a number of days above 0').optional(),
});

/** Every rule of the policy, so that a new one cannot be forgotten here. */
const policy = z.strictObject({
  'expired-present': rule.optional(),
  'lifetime-over': ruleWithDays.optional(),
  'never-expires': rule.optional(),
  'write-scope': rule.optional(),
  'unused-for': ruleWithDays.optional(),
  'owner-inactive': rule.optional(),
  'owner-external': rule.optional(),
} satisfies Record<RuleName, z.ZodType>);

/** What a context may be called: it is a key of the file, and part of a file's name. */
export const contextNamePattern = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** The configuration file's shape, and that of all layers merged. */
export const configurationSchema = z.strictObject({
  currentContext: z.string().min(1).optional(),
  contexts: z.record(
    z.string().regex(contextNamePattern, 'cannot name a context: use letters, digits, dots and dashes'),
    context,
  ),
  auditLog: z.strictObject({ file: z.string().min(1) }),
  policy,
});

/** Where a secret is kept: a file of mode 0600, or a variable of the environment. */
export type SecretReference = z.output<typeof secretReference>;

/** A context: one way to reach one controller. */
export type ContextSettings = z.output<typeof context>;

/** The settings of a run, after all layers were merged and checked. */
export type Settings = z.output<typeof configurationSchema>;
