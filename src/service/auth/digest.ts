import { createHash, timingSafeEqual } from 'node:crypto';

/** What is stored of a token, refresh token, code or client secret: its SHA-256 in hex. */
export function storedForm(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** What is stored of a session id. The controller's column holds 40 characters: 240 bits of the SHA-256. */
export function storedSessionKey(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest().subarray(0, 30).toString('base64url');
}

/** Whether two texts are the same, in a time that does not tell where they differ. */
export function sameText(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
