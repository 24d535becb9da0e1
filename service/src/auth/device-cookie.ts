import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import type { Device } from '../limits/limits.ts';
import type { UserRecord } from '../store/users.ts';
import { randomText, sameText } from './secret-hashes.ts';

const LIFETIME_SECONDS = 90 * 86_400;
/** A person with two accounts in one browser, such as an administrator, has an entry for each. */
const MAX_ENTRIES = 4;
const ID_LENGTH = 22;
const ENTRY = /^(\d{1,9})\.([A-Za-z0-9]{22})\.(\d{1,12})\.([A-Za-z0-9_-]{43})$/;

type Signing = Pick<ServiceContext, 'secrets' | 'now'>;

/**
 * Sets the cookie that identifies this browser at the next login (OWASP, "Slow Down Online Guessing Attacks with
 * Device Cookies"). It contains user ids, random numbers and times, each entry signed, and gives access to nothing.
 */
export function rememberDevice(
  service: Signing,
  { request, reply, user }: { request: FastifyRequest; reply: FastifyReply; user: UserRecord },
): void {
  const issued = Math.floor(service.now().getTime() / 1000);
  const facts = `${user.id}.${randomText(ID_LENGTH)}.${issued}`;
  const others = entriesOf(request).filter((entry) => !entry.startsWith(`${user.id}.`));
  const entries = [`${facts}.${signature(service, facts, user)}`, ...others].slice(0, MAX_ENTRIES);
  reply.setCookie(cookieName(request), entries.join('~'), {
    path: '/',
    httpOnly: true,
    // Not `strict`: a link on another site may start a login through a provider.
    sameSite: 'lax',
    secure: request.protocol === 'https',
    maxAge: LIFETIME_SECONDS,
  });
}

/** The device, if the cookie for this user has a valid signature and is at most ninety days old; else null. */
export function knownDevice(service: Signing, request: FastifyRequest, user: UserRecord): Device | null {
  const entry = entriesOf(request).find((each) => each.startsWith(`${user.id}.`));
  const [, , id, issued, signed] = ENTRY.exec(entry ?? '') ?? [];
  if (id === undefined || issued === undefined || signed === undefined) return null;
  if (!sameText(signed, signature(service, `${user.id}.${id}.${issued}`, user))) return null;
  const age = service.now().getTime() / 1000 - Number(issued);
  return age <= LIFETIME_SECONDS ? { userId: user.id, id } : null;
}

/** The user in the newest entry of the cookie, unverified; null without a cookie. */
export function namedUser(request: FastifyRequest): number | null {
  const id = ENTRY.exec(entriesOf(request)[0] ?? '')?.[1];
  return id === undefined ? null : Number(id);
}

/** The key includes the stored password hash, so a new password invalidates every earlier cookie of the user. */
function signature({ secrets }: Signing, facts: string, user: UserRecord): string {
  const key = createHmac('sha256', secrets.deviceKey).update(user.password).digest();
  return createHmac('sha256', key).update(facts).digest('base64url');
}

function entriesOf(request: FastifyRequest): string[] {
  const cookie = request.cookies[cookieName(request)] ?? '';
  return cookie.length > 1_000
    ? []
    : cookie
        .split('~')
        .filter((entry) => ENTRY.test(entry))
        .slice(0, MAX_ENTRIES);
}

/** The prefix keeps other hosts of the same domain from setting the cookie (RFC 6265bis, section 4.1.3.2). */
function cookieName({ protocol }: FastifyRequest): string {
  return protocol === 'https' ? '__Host-known_device' : 'known_device';
}
