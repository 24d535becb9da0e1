/**
 * A worker thread that verifies the responses of SAML identity providers, one after the other. `SamlThread` starts it
 * and sends it one {@link SamlAnswer} at a time; each gets a {@link SamlVerdict}.
 */
import { parentPort } from 'node:worker_threads';
import { SsoFailure, type SsoReason } from './backends.ts';
import { type SamlExchange, samlClient } from './saml-client.ts';
import { checkEnvelope } from './saml-envelope.ts';

/** A SAML response, and the exchange that it belongs to. */
export interface SamlAnswer extends SamlExchange {
  /** As it was posted: base64. */
  readonly response: string;
}

/** A verified assertion, as the library returns it: only the content that was signed. */
export interface VerifiedAssertion {
  readonly nameId: string;
  readonly nameIdFormat: string;
  /** The identity provider's name of the session; empty for none. */
  readonly sessionIndex: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The assertion's element in the form of xml2js. */
  readonly element: unknown;
}

/** The result of a verification, as data that can be sent to another thread. */
export type SamlVerdict =
  | { readonly verified: VerifiedAssertion }
  | { readonly refused: SsoReason; readonly detail: string };

parentPort?.on('message', async (answer: SamlAnswer) => {
  parentPort?.postMessage(await verifySaml(answer));
});

/**
 * Checks the envelope, and that the assertion, which may be encrypted, is signed by the identity provider, and that its audience and
 * times fit. Does not check the recipient or whether it was used before. An encrypted response can decrypt to a huge
 * document and take long to verify, hence the thread.
 */
async function verifySaml(answer: SamlAnswer): Promise<SamlVerdict> {
  try {
    const { configuration, idp, callback } = answer;
    await checkEnvelope(Buffer.from(answer.response, 'base64').toString('utf8'), {
      destination: callback,
      issuer: idp.entity_id,
      acceptsSha1: configuration.security.rejectDeprecatedAlgorithm === false,
      key: configuration.privateKey,
    });
    const saml = await samlClient(answer);
    const { profile } = await saml.validatePostResponseAsync({ SAMLResponse: answer.response });
    const assertion = profile?.getAssertion?.()['Assertion'];
    if (profile === null || assertion === undefined) {
      return { refused: 'unverified', detail: 'the response has no assertion' };
    }
    return {
      verified: {
        nameId: profile.nameID ?? '',
        nameIdFormat: profile.nameIDFormat ?? '',
        sessionIndex: profile.sessionIndex ?? '',
        attributes: (profile['attributes'] ?? {}) as Record<string, unknown>,
        element: assertion,
      },
    };
  } catch (error) {
    if (error instanceof SsoFailure) return { refused: error.reason, detail: error.message };
    const detail = error instanceof Error ? error.message.slice(0, 300) : 'unknown error';
    return { refused: 'unverified', detail };
  }
}
