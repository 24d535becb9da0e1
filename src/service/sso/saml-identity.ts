import type { SamlIdp } from '../settings/sso-schemas.ts';
import { attributesOf, type Identity, LONGEST_UID, SsoFailure } from './backends.ts';
import type { VerifiedAssertion } from './verify-saml.ts';

const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
const NAME_ID = 'name_id';

/** What attributes are called where the configuration does not say: eduPerson's object identifiers, and plain names. */
const NAMES = {
  attr_email: ['urn:oid:0.9.2342.19200300.100.1.3', 'mail', 'email'],
  attr_username: ['urn:oid:0.9.2342.19200300.100.1.1', 'uid', 'username'],
  attr_first_name: ['urn:oid:2.5.4.42', 'givenName', 'first_name'],
  attr_last_name: ['urn:oid:2.5.4.4', 'sn', 'last_name'],
} as const;

/**
 * Who the user of a verified assertion is: the identity provider's short name and the NameID, or the
 * attribute that is configured as permanent.
 *
 * @throws SsoFailure `unverified` where nothing names the user for good.
 */
export function samlIdentity(
  { name, idp }: { readonly name: string; readonly idp: SamlIdp },
  { nameId, nameIdFormat, attributes: claims }: VerifiedAssertion,
): Identity {
  const attributes = attributesOf(claims);
  const one = (attribute: string) =>
    attribute === NAME_ID ? nameId : (attributes.get(attribute)?.[0] ?? '').trim();
  const of = (key: keyof typeof NAMES) =>
    (idp[key] === undefined ? NAMES[key] : [idp[key]]).map(one).find((value) => value !== '') ?? '';
  const permanent = idp.attr_user_permanent_id ?? NAME_ID;
  if (permanent === NAME_ID && nameIdFormat === TRANSIENT) {
    throw new SsoFailure(
      'misconfigured',
      'the NameID is transient, and no attr_user_permanent_id is configured',
    );
  }
  const uid = one(permanent);
  if (uid === '') throw new SsoFailure('unverified', 'the assertion does not say who the user is');
  if (uid.length + name.length + 1 > LONGEST_UID)
    throw new SsoFailure('unverified', 'the subject is too long');
  const email = of('attr_email').toLowerCase();
  const username = of('attr_username');
  return {
    backend: 'saml',
    uid: `${name}:${uid}`,
    username: username || (email || nameId).split('@')[0] || '',
    email,
    firstName: of('attr_first_name'),
    lastName: of('attr_last_name'),
    names: [...new Set([username, email, nameId])].filter((value) => value !== ''),
    attributes,
  };
}
