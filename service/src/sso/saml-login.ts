import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { hashToken } from '../auth/secret-hashes.ts';
import { localPath } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import type { SamlIdp } from '../settings/sso-schemas.ts';
import { recordAssertion } from '../store/sso-logins.ts';
import {
  attributesOf,
  CLOCK_TOLERANCE_S,
  type Identity,
  MAX_UID_LENGTH,
  SsoFailure,
  withheldBy,
} from './backends.ts';
import { type SamlConfiguration, ssoConfiguration } from './configuration.ts';
import {
  type Admission,
  type Completed,
  callbackUrl,
  requireConfiguration,
  takePendingLogin,
} from './login.ts';
import { mappedAttributes, NAME_CLAIMS } from './role-mapping.ts';
import { idpOf, nameIdFormat, type SentRequest } from './saml-client.ts';
import type { SamlThread } from './saml-thread.ts';
import type { VerifiedAssertion } from './saml-worker.ts';

type SamlService = ServiceContext & { readonly thread: SamlThread };

/** The form that an identity provider's page posts. */
interface Posted {
  readonly response: string;
  readonly relayState: string;
}

/**
 * Completes a login with SAML. The response must refer to a request of this browser, unless the identity
 * provider may start logins itself (`allow_idp_initiated`).
 * @param admission `admitUnsolicited` is called before the verification of a response without a request.
 * @throws SsoFailure
 */
export async function completeSaml(
  service: SamlService,
  request: FastifyRequest,
  { admit, admitUnsolicited }: Admission & { admitUnsolicited: () => void },
): Promise<Completed> {
  const posted = read(request.body);
  const login = await takePendingLogin(service, request, { backend: 'saml', state: posted.relayState });
  if (login !== null) admit();
  const configuration = await requireConfiguration(service, 'saml');
  if (login === null) {
    return completeIdpInitiated(service, configuration, {
      posted,
      redirectUri: callbackUrl(request, 'saml'),
      admitUnsolicited,
    });
  }
  const { idp = '', requestId = '', redirectUri, next } = login.details;
  const sentRequest = { id: requestId, at: login.started };
  const verified = await identify(service, configuration, {
    idp,
    response: posted.response,
    redirectUri,
    sentRequest,
  });
  return { configuration, ...verified, next };
}

/** Tries a response without a request against each identity provider that may start logins. */
async function completeIdpInitiated(
  service: SamlService,
  configuration: SamlConfiguration,
  options: { posted: Posted; redirectUri: string; admitUnsolicited: () => void },
): Promise<Completed> {
  const { posted, redirectUri, admitUnsolicited } = options;
  const allowed = Object.entries(configuration.idps).filter(([, idp]) => idp.allow_idp_initiated === true);
  let failure = new SsoFailure('no_such_login', 'this browser has no pending login for the response');
  if (allowed.length > 0) admitUnsolicited();
  for (const [idp] of allowed) {
    try {
      const answer = { idp, response: posted.response, redirectUri, sentRequest: null };
      const verified = await identify(service, configuration, answer);
      return { configuration, ...verified, next: localPath(posted.relayState) };
    } catch (error) {
      if (!(error instanceof SsoFailure)) throw error;
      failure = error;
    }
  }
  throw failure;
}

async function identify(
  service: SamlService,
  configuration: SamlConfiguration,
  answer: { idp: string; response: string; redirectUri: string; sentRequest: SentRequest | null },
): Promise<Pick<Completed, 'identity' | 'session'>> {
  const { database, now, thread } = service;
  const idp = idpOf(configuration, answer.idp);
  const { response, redirectUri: callback, sentRequest } = answer;
  const assertion = await thread.verify({ configuration, idp, callback, response, sentRequest });
  const { id, until, sessionEnds } = checkSubject(assertion.element, {
    issuer: idp.entity_id,
    recipient: answer.redirectUri,
    inResponseTo: answer.sentRequest?.id ?? null,
    now: now(),
    skew: CLOCK_TOLERANCE_S * 1000,
  });
  const isFirstUse = await recordAssertion(database, {
    digest: hashToken(`${idp.entity_id}\n${id}`),
    expires: until,
  });
  if (!isFirstUse) throw new SsoFailure('unverified', 'the assertion was already used');
  const { nameId, nameIdFormat, sessionIndex } = assertion;
  const { rules } = await ssoConfiguration(service, database);
  const mapped = mappedAttributes(rules('saml'));
  const withheld = assertion.hidesAttributes
    ? [...new Set([...mapped, ...NAME_CLAIMS])]
    : withheldBy(assertion.attributes, mapped);
  return {
    identity: { ...samlIdentity({ name: answer.idp, idp }, assertion), withheld },
    session: { ends: sessionEnds, details: { idp: answer.idp, nameId, nameIdFormat, sessionIndex } },
  };
}

function read(body: unknown): Posted {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const { SAMLResponse: response, RelayState: relayState } = fields;
  if (typeof response !== 'string' || response === '') {
    throw new SsoFailure('no_such_login', 'SAMLResponse is missing');
  }
  return { response, relayState: typeof relayState === 'string' ? relayState : '' };
}

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
  AuthnStatement: z
    .array(z.object({ $: z.object({ SessionNotOnOrAfter: z.string().optional() }).optional() }))
    .min(1),
});

/** What a verified assertion must say, beyond what the library checks. */
interface ExpectedSubject {
  readonly issuer: string;
  readonly recipient: string;
  /** The id of our request; null if the identity provider started the login. */
  readonly inResponseTo: string | null;
  readonly now: Date;
  /** The tolerated clock difference, in milliseconds. */
  readonly skew: number;
}

/**
 * Checks the issuer and the recipient of a verified assertion (SAML 2.0 Profiles, section 4.1.4.3). The
 * library checks the signature, audience and times, but not these, and `InResponseTo` only if it is present.
 * @returns The assertion's id, when it expires, and when the session must end (null if it does not say).
 * @throws SsoFailure `unverified`.
 */
export function checkSubject(
  element: unknown,
  expected: ExpectedSubject,
): { readonly id: string; readonly until: Date; readonly sessionEnds: Date | null } {
  const parsed = ASSERTION.safeParse(element);
  if (!parsed.success) throw refused('is not a valid login assertion');
  const { $, Issuer: issuers, Subject: subjects, AuthnStatement: statements } = parsed.data;
  if (issuers[0] !== expected.issuer) throw refused('has another issuer');
  const confirmations = subjects.flatMap((subject) => subject.SubjectConfirmation);
  const until = confirmations.flatMap((confirmation) => confirmedUntil(confirmation, expected) ?? []);
  if (until.length === 0) throw refused('has no confirmation for this recipient, request and time');
  const ends = statements.flatMap((statement) => statement.$?.SessionNotOnOrAfter ?? []).map(instant);
  const sessionEnds = ends.length === 0 ? null : new Date(Math.min(...ends.map(Number)));
  if (sessionEnds !== null && sessionEnds <= expected.now)
    throw refused('belongs to a session that has ended');
  // A used assertion must be remembered until its last confirmation expires.
  return { id: $.ID, until: new Date(Math.max(...until.map(Number))), sessionEnds };
}

function instant(text: string): Date {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw refused('has an invalid SessionNotOnOrAfter');
  return at;
}

function confirmedUntil(confirmation: unknown, expected: ExpectedSubject): Date | null {
  const parsed = CONFIRMATION.safeParse(confirmation);
  if (!parsed.success || parsed.data.$.Method !== BEARER) return null;
  const data = parsed.data.SubjectConfirmationData[0]?.$;
  if (data?.NotOnOrAfter === undefined || data.NotBefore !== undefined) return null;
  const until = new Date(new Date(data.NotOnOrAfter).getTime() + expected.skew);
  const isForUs =
    data.Recipient === expected.recipient && (data.InResponseTo ?? null) === expected.inResponseTo;
  return isForUs && until > expected.now ? until : null;
}

function refused(why: string): SsoFailure {
  return new SsoFailure('unverified', `the assertion ${why}`);
}

const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
const NAME_ID = 'name_id';

/** The default attribute names: object identifiers of the LDAP attributes, and plain names. */
const DEFAULT_NAMES = {
  attr_email: ['urn:oid:0.9.2342.19200300.100.1.3', 'mail', 'email'],
  attr_username: ['urn:oid:0.9.2342.19200300.100.1.1', 'uid', 'username'],
  attr_first_name: ['urn:oid:2.5.4.42', 'givenName', 'first_name'],
  attr_last_name: ['urn:oid:2.5.4.4', 'sn', 'last_name'],
} as const;

/** The identity in an assertion. Its uid is the provider's short name with the NameID or `attr_user_permanent_id`. */
function samlIdentity(
  { name, idp }: { name: string; idp: SamlIdp },
  { nameId, nameIdFormat: format, attributes: claims }: VerifiedAssertion,
): Identity {
  const attributes = attributesOf(claims);
  const one = (attribute: string) =>
    attribute === NAME_ID ? nameId : (attributes.get(attribute)?.[0] ?? '').trim();
  const of = (key: keyof typeof DEFAULT_NAMES) =>
    (idp[key] === undefined ? DEFAULT_NAMES[key] : [idp[key]]).map(one).find((value) => value !== '') ?? '';
  const permanent = idp.attr_user_permanent_id ?? NAME_ID;
  if (permanent === NAME_ID && format === TRANSIENT) {
    throw new SsoFailure(
      'misconfigured',
      'the NameID is transient, although another format was requested: configure a persistent one at the identity provider, or ' +
        'set attr_user_permanent_id',
    );
  }
  const asked = permanent === NAME_ID ? nameIdFormat(idp) : null;
  const uid = one(permanent);
  if (uid === '') throw new SsoFailure('unverified', 'the assertion has no permanent ID of the user');
  if (uid.length + name.length + 1 > MAX_UID_LENGTH)
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
    noNewUser:
      asked === null || format === asked
        ? undefined
        : `the NameID has the format ${format || 'unspecified'}, although ${asked} was requested: the user may be here under ` +
          'another one. Configure that format at the identity provider, or set name_id_format',
  };
}
