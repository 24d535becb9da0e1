import { z } from 'zod';
import { SsoFailure } from './backends.ts';

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';

const TEXT = z.union([z.string(), z.object({ _: z.string() }).transform(({ _ }) => _)]);
const CONFIRMATION = z.object({
  $: z.object({ Method: z.string() }),
  SubjectConfirmationData: z
    .array(
      z.object({
        $: z.object({
          Recipient: z.string().optional(),
          NotOnOrAfter: z.string().optional(),
          NotBefore: z.string().optional(),
          InResponseTo: z.string().optional(),
        }),
      }),
    )
    .length(1),
});
const ASSERTION = z.object({
  $: z.object({ ID: z.string().min(1) }),
  Issuer: z.array(TEXT).length(1),
  Subject: z.array(z.object({ SubjectConfirmation: z.array(z.unknown()).min(1) })).length(1),
  AuthnStatement: z.array(z.unknown()).min(1),
});

/** What a verified assertion has to say beyond what the library looks at. */
export interface ExpectedSubject {
  readonly issuer: string;
  readonly recipient: string;
  /** The id of the request that it answers; null where nobody asked. */
  readonly inResponseTo: string | null;
  readonly now: Date;
  /** How far clocks may be apart, in milliseconds. */
  readonly skew: number;
}

/**
 * Checks who made a verified assertion and to whom it was sent (SAML 2.0 Profiles, section 4.1.4.3): the
 * library looks at the signature, audience and times, but not at the issuer and the recipient, and at
 * `InResponseTo` only where there is one.
 *
 * @returns Its id, and until when it could be used.
 * @throws SsoFailure `unverified`.
 */
export function checkSubject(
  element: unknown,
  expected: ExpectedSubject,
): { readonly id: string; readonly until: Date } {
  const parsed = ASSERTION.safeParse(element);
  if (!parsed.success) throw refused('is not made as an assertion for a login is');
  const { $, Issuer: issuers, Subject: subjects } = parsed.data;
  if (issuers[0] !== expected.issuer) throw refused('was made by another issuer');
  const confirmations = subjects.flatMap((subject) => subject.SubjectConfirmation);
  const until = confirmations.flatMap((confirmation) => confirmedUntil(confirmation, expected) ?? []);
  if (until.length === 0) throw refused('was not sent here, for this login and this time');
  // Of several confirmations the last one to expire: until then it must be remembered as used.
  return { id: $.ID, until: new Date(Math.max(...until.map(Number))) };
}

function confirmedUntil(confirmation: unknown, expected: ExpectedSubject): Date | null {
  const parsed = CONFIRMATION.safeParse(confirmation);
  if (!parsed.success || parsed.data.$.Method !== BEARER) return null;
  const data = parsed.data.SubjectConfirmationData[0]?.$;
  if (data?.NotOnOrAfter === undefined || data.NotBefore !== undefined) return null;
  const until = new Date(new Date(data.NotOnOrAfter).getTime() + expected.skew);
  const meant =
    data.Recipient === expected.recipient && (data.InResponseTo ?? null) === expected.inResponseTo;
  return meant && until > expected.now ? until : null;
}

function refused(why: string): SsoFailure {
  return new SsoFailure('unverified', `the assertion ${why}`);
}
