import { SsoFailure, type SsoReason } from './backends.ts';
import { type SamlExchange, samlClient } from './saml-client.ts';

/** The longest answer that is looked at, in characters of base64: a thousand groups fit in. */
const LONGEST = 262_144;
/** The most tags, comments and the like in it. What the library does with them takes time by their square. */
const MOST_MARKUP = 5_000;

/** An answer, and between whom it came about. */
export interface SamlAnswer extends SamlExchange {
  /** As it was posted: base64. */
  readonly response: string;
}

/** A verified assertion, as the library gives it: the content that was signed, and no other. */
export interface VerifiedAssertion {
  readonly nameId: string;
  readonly nameIdFormat: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The assertion's element in the form of xml2js. */
  readonly element: unknown;
}

/** What came of a verification, as data that another thread can send. */
export type SamlVerdict =
  | { readonly verified: VerifiedAssertion }
  | { readonly refused: SsoReason; readonly detail: string };

/**
 * Refuses what no identity provider sends, before anything is parsed: an answer of enormous size, and one
 * with a document type, which can hold entities and which nothing in SAML needs.
 *
 * @throws SsoFailure `unverified`.
 */
export function refuseMonsters(response: string): void {
  const refused = (why: string) => new SsoFailure('unverified', `the answer ${why}`);
  if (response.length > LONGEST) throw refused('is too long');
  const text = Buffer.from(response, 'base64').toString('utf8');
  if (/<!DOCTYPE/i.test(text)) throw refused('has a document type');
  if (text.split('<').length > MOST_MARKUP) throw refused('has too many elements');
}

/**
 * Verifies an answer: its assertion, which may be encrypted, is signed by the identity provider, once, and
 * meant for this service at this time. To whom it was sent, and whether it was used before, is not known here.
 * It can take long, where an encrypted answer turns out to be a monster: to be called in a thread of its own.
 */
export async function verifySaml(answer: SamlAnswer): Promise<SamlVerdict> {
  try {
    const saml = await samlClient(answer);
    const { profile } = await saml.validatePostResponseAsync({ SAMLResponse: answer.response });
    const assertion = profile?.getAssertion?.()['Assertion'];
    if (profile === null || assertion === undefined) {
      return { refused: 'unverified', detail: 'there is no assertion' };
    }
    return {
      verified: {
        nameId: profile.nameID ?? '',
        nameIdFormat: profile.nameIDFormat ?? '',
        attributes: (profile['attributes'] ?? {}) as Record<string, unknown>,
        element: assertion,
      },
    };
  } catch (error) {
    if (error instanceof SsoFailure) return { refused: error.reason, detail: error.message };
    const detail = error instanceof Error ? error.message.slice(0, 300) : 'an unknown error';
    const said = error instanceof Error && 'xmlStatus' in error;
    return { refused: said ? 'refused_by_provider' : 'unverified', detail };
  }
}
