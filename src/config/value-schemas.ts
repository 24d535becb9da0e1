import { isProtected } from '@tokenctl/common/network-address.ts';
import { z } from 'zod';

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const pattern = /^(\d+)([smhd])$/;
const problem = 'must be a duration: 30s, 10m, 12h or 7d';

/** The longest age that a configuration may name. */
export const MAX_AGE = '3650d';

/**
 * A length of time in a configuration, as `90s`, `10m`, `12h` or `7d`; in seconds once it was read. The maximum of what is
 * waited for is below 24 days: a timer of Node.js that is set for longer ends at once.
 */
export function duration({ min = '0s', max }: { min?: string; max: string }) {
  const [least, most] = [secondsIn(min), secondsIn(max)];
  return z
    .string({ error: problem })
    .regex(pattern, problem)
    .transform((text, { addIssue }) => {
      const seconds = secondsIn(text);
      if (seconds < least) addIssue(`must be at least ${min}, not "${text}"`);
      if (seconds > most) addIssue(`must be at most ${max}, not "${text}"`);
      return seconds;
    });
}

/** The same in milliseconds, for what is compared with instants. */
export function milliseconds(limits: Parameters<typeof duration>[0]) {
  return duration(limits).transform((seconds) => seconds * 1000);
}

function secondsIn(text: string): number {
  const [, number, unit] = pattern.exec(text) ?? [];
  return Number(number) * SECONDS[unit as keyof typeof SECONDS];
}

/** A file, as `{ file: PATH }`; its path once it was read. */
export const file = z.strictObject({ file: z.string().min(1) }).transform(({ file }) => file);

/** A whole number above 0. */
export const whole = (what: string) => z.number().int().min(1, `must be a whole number of ${what} above 0`);

/** A share of something, in percent. */
export const percent = z.number().min(0, 'must be between 0 and 100').max(100, 'must be between 0 and 100');

/** Days before something happens. */
export const daysBefore = z
  .number()
  .positive('must be a number of days above 0')
  .max(36_500, 'must be at most 36500 days');

const inFile = z.strictObject({ file: z.string().min(1) });
const env = z.strictObject({ env: z.string().min(1) });

/** The shape of a {@link SecretReference}. */
export const secretReference = z
  .union([inFile, env], { error: 'specifies where the secret is: { file: PATH } or { env: VARIABLE }' })
  .describe('Where a secret is stored. The configuration never contains the secret itself.');

/** Where a secret is kept: a file with mode 0600, or a variable of the environment. */
export type SecretReference = z.output<typeof secretReference>;

const POSTGRES_URL = /^postgres(ql)?:\/\//i;
/** libpq's other form, such as `service=NAME`. */
const KEYWORDS = /^\s*[a-z_]+\s*=/;

/** The connection in plain text. What is wrong with it is told instead of what is wrong with the choice. */
const plain = z.string().superRefine((text, { addIssue }) => {
  const message = problemWith(text);
  if (message !== undefined) addIssue({ code: 'custom', message });
});

/** What is wrong with a connection, without repeating any of it. */
function problemWith(text: string): string | undefined {
  const isUrl = POSTGRES_URL.test(text);
  if (!isUrl && !KEYWORDS.test(text)) return 'must be a postgres:// URL or service=NAME';
  if (!(isUrl ? urlHoldsPassword(text) : /\bpassword\s*=/.test(text))) return undefined;
  return 'must not contain a password: put the URL into a file or variable ({ file: PATH } or { env: VARIABLE }), or the password into ~/.pgpass or PGPASSWORD';
}

/** A password may hold what ends one elsewhere: anything between a colon and a later @ is taken for one. */
function urlHoldsPassword(text: string): boolean {
  const query = new URLSearchParams(text.split('?').slice(1).join('?'));
  return /:\/\/.*:.*@/s.test(text) || [...query.keys()].some((key) => /password$/i.test(key));
}

/** The shape of a {@link DatabaseSetting}. */
export const databaseSetting = z.union([plain, secretReference], {
  error:
    'specifies the database: { file: PATH } or { env: VARIABLE } that contains its URL, or a URL without a password',
});

/**
 * How a database is reached: a `postgres://` URL or `service=NAME`, in plain text where it holds no password,
 * else by where it is kept.
 */
export type DatabaseSetting = z.output<typeof databaseSetting>;

/** Where a program keeps its own state: a file, or a database that several share. */
export const statePlace = z
  .strictObject({ file: z.string().min(1).optional(), database: databaseSetting.optional() })
  .refine(
    ({ file, database }) => file === undefined || database === undefined,
    'has both a file and a database: remove one',
  );
export type StateSetting = z.infer<typeof statePlace>;

/** A name that is given in a configuration: `a transmitter`. */
export const plainName = (what: string) =>
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, `cannot name ${what}: use lowercase letters, digits and dashes`);

/** An address whose answers are trusted: https, or on this machine. */
export const trustedUrl = z.string().superRefine((text, { addIssue }) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isProtected(url)) addIssue('must be an https:// URL');
  else if (url.username !== '' || url.password !== '') addIssue('must not hold a user name or password');
});

/** Where keys are published, or a file with them: a JWK Set, or certificates or public keys in PEM. */
export const publishedKeys = z.union([trustedUrl, z.strictObject({ file: z.string().min(1) })], {
  error: 'must be an https:// URL, or { file: PATH } of a JWK Set or a certificate',
});
