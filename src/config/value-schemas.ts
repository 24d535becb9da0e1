import { isProtected } from '@tokenctl/common/network-address.ts';
import { z } from 'zod';

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const pattern = /^(\d+)([smhd])$/;
const problem = 'must be a duration: 30s, 10m, 12h or 7d';

/** The maximum age in a configuration. */
export const MAX_AGE = '3650d';

/** A duration such as `90s`, `10m`, `12h` or `7d`, in seconds. Longer timers than 24 days fire at once in Node.js. */
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

/** The same in milliseconds, for comparison with instants. */
export function milliseconds(limits: Parameters<typeof duration>[0]) {
  return duration(limits).transform((seconds) => seconds * 1000);
}

function secondsIn(text: string): number {
  const [, number, unit] = pattern.exec(text) ?? [];
  return Number(number) * SECONDS[unit as keyof typeof SECONDS];
}

/** A file, as `{ file: PATH }`, converted to its path. */
export const file = z.strictObject({ file: z.string().min(1) }).transform(({ file }) => file);

/** An integer above 0. */
export const whole = (what: string) => z.number().int().min(1, `must be a whole number of ${what} above 0`);

export const percent = z.number().min(0, 'must be between 0 and 100').max(100, 'must be between 0 and 100');

/** Days before an event. */
export const daysBefore = z
  .number()
  .positive('must be a number of days above 0')
  .max(36_500, 'must be at most 36500 days');

const inFile = z.strictObject({ file: z.string().min(1) });
const env = z.strictObject({ env: z.string().min(1) });

export const secretReference = z
  .union([inFile, env], { error: 'specifies where the secret is: { file: PATH } or { env: VARIABLE }' })
  .describe('Where a secret is stored. The configuration never contains the secret itself.');

/** Where a secret is stored: a file with mode 0600, or an environment variable. */
export type SecretReference = z.output<typeof secretReference>;

const POSTGRES_URL = /^postgres(ql)?:\/\//i;
/** libpq's other format, such as `service=NAME`. */
const KEYWORDS = /^\s*[a-z_]+\s*=/;

/** The connection in plain text. Its own problem is reported instead of that of the union. */
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

/** A password may contain any characters, so everything between a colon and a later @ counts as a password. */
function urlHoldsPassword(text: string): boolean {
  const query = new URLSearchParams(text.split('?').slice(1).join('?'));
  return /:\/\/.*:.*@/s.test(text) || [...query.keys()].some((key) => /password$/i.test(key));
}

export const databaseSetting = z.union([plain, secretReference], {
  error:
    'specifies the database: { file: PATH } or { env: VARIABLE } that contains its URL, or a URL without a password',
});

/** A database connection: a URL or `service=NAME` in plain text without a password, else where it is stored. */
export type DatabaseSetting = z.output<typeof databaseSetting>;

/** Where a program keeps its own state: a file, or a shared database. */
export const statePlace = z
  .strictObject({ file: z.string().min(1).optional(), database: databaseSetting.optional() })
  .refine(
    ({ file, database }) => file === undefined || database === undefined,
    'has both a file and a database: remove one',
  );
export type StateSetting = z.infer<typeof statePlace>;

/** A name in a configuration: `a transmitter`. */
export const plainName = (what: string) =>
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, `cannot name ${what}: use lowercase letters, digits and dashes`);

/** A URL whose responses are trusted: https, or on this machine. */
export const trustedUrl = z.string().superRefine((text, { addIssue }) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isProtected(url)) addIssue('must be an https:// URL');
  else if (url.username !== '' || url.password !== '') addIssue('must not hold a user name or password');
});

/** The URL or file of published keys: a JWK Set, or certificates or public keys in PEM. */
export const publishedKeys = z.union([trustedUrl, z.strictObject({ file: z.string().min(1) })], {
  error: 'must be an https:// URL, or { file: PATH } of a JWK Set or a certificate',
});
