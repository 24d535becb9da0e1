import type { FastifyRequest } from 'fastify';
import { storedForm } from '../auth/digest.ts';
import { localPath } from '../auth/finish-login.ts';
import type { ServiceContext } from '../context.ts';
import { useAssertion } from '../store/sso-logins.ts';
import { SsoFailure } from './backends.ts';
import { callbackUrl } from './callback-url.ts';
import type { Completed } from './complete-login.ts';
import type { SamlConfiguration } from './configuration.ts';
import { CLOCK_TOLERANCE } from './discoveries.ts';
import { configured } from './login.ts';
import { takeLoginOf } from './login-state.ts';
import { idpOf } from './saml.ts';
import type { AskedRequest } from './saml-client.ts';
import { samlIdentity } from './saml-identity.ts';
import { checkSubject } from './saml-subject.ts';
import type { SamlThread } from './saml-thread.ts';

/** The service, with a thread to verify answers in. */
type SamlService = ServiceContext & { readonly thread: SamlThread };

/** What an identity provider's page posts. */
interface Posted {
  readonly response: string;
  readonly relayState: string;
}

/**
 * Completes a login with SAML: the answer is for a request of this browser, or, where an identity provider
 * may begin logins, for none.
 *
 * @throws SsoFailure
 */
export async function completeSaml(service: SamlService, request: FastifyRequest): Promise<Completed> {
  const configuration = await configured(service, 'saml');
  if (configuration.backend !== 'saml') throw new Error('the configuration of SAML is of another kind');
  const posted = read(request.body);
  const login = await takeLoginOf(service, request, { backend: 'saml', state: posted.relayState });
  if (login === null)
    return completeUnasked(service, configuration, { posted, redirectUri: callbackUrl(request, 'saml') });
  const { idp = '', requestId = '', redirectUri, next } = login.details;
  const asked = { id: requestId, at: login.started };
  const identity = await identify(service, configuration, {
    idp,
    response: posted.response,
    redirectUri,
    asked,
  });
  return { configuration, identity, next };
}

/** An answer that nobody here asked for: taken of those identity providers only that are allowed to send some. */
async function completeUnasked(
  service: SamlService,
  configuration: SamlConfiguration,
  { posted, redirectUri }: { readonly posted: Posted; readonly redirectUri: string },
): Promise<Completed> {
  const allowed = Object.entries(configuration.idps).filter(([, idp]) => idp.allow_idp_initiated === true);
  let failure = new SsoFailure('no_such_login', 'the answer is for no login of this browser');
  for (const [idp] of allowed) {
    try {
      const answer = { idp, response: posted.response, redirectUri, asked: null };
      const identity = await identify(service, configuration, answer);
      return { configuration, identity, next: localPath(posted.relayState) };
    } catch (error) {
      if (!(error instanceof SsoFailure)) throw error;
      failure = error;
    }
  }
  throw failure;
}

async function identify(
  { database, now, thread }: SamlService,
  configuration: SamlConfiguration,
  answer: {
    readonly idp: string;
    readonly response: string;
    readonly redirectUri: string;
    readonly asked: AskedRequest | null;
  },
): Promise<Completed['identity']> {
  const idp = idpOf(configuration, answer.idp);
  const { response, redirectUri: callback, asked } = answer;
  const assertion = await thread.verify({ configuration, idp, callback, response, asked });
  const { id, until } = checkSubject(assertion.element, {
    issuer: idp.entity_id,
    recipient: answer.redirectUri,
    inResponseTo: answer.asked?.id ?? null,
    now: now(),
    skew: CLOCK_TOLERANCE * 1000,
  });
  const first = await useAssertion(database, {
    digest: storedForm(`${idp.entity_id}\n${id}`),
    expires: until,
  });
  if (!first) throw new SsoFailure('unverified', 'the assertion was used before');
  return samlIdentity({ name: answer.idp, idp }, assertion);
}

function read(body: unknown): Posted {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const { SAMLResponse: response, RelayState: relayState } = fields;
  if (typeof response !== 'string' || response === '') {
    throw new SsoFailure('no_such_login', 'there is no answer of an identity provider');
  }
  return { response, relayState: typeof relayState === 'string' ? relayState : '' };
}
