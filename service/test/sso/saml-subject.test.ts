import { describe, expect, it } from 'vitest';
import { checkSubject } from '../../src/sso/saml-login.ts';

const NOW = new Date('2030-01-01T00:00:00Z');
const CALLBACK = 'https://automation.example.org/sso/complete/saml/';

/** A confirmation in the form of xml2js, that ends so many seconds from now. */
function confirmation(seconds: number): object {
  const NotOnOrAfter = new Date(NOW.getTime() + seconds * 1000).toISOString();
  return {
    $: { Method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer' },
    SubjectConfirmationData: [{ $: { Recipient: CALLBACK, NotOnOrAfter } }],
  };
}

describe('an assertion with several confirmations', () => {
  it('is remembered as used until the last of them ends', () => {
    const element = {
      $: { ID: '_1' },
      Issuer: ['https://idp.example.org/saml'],
      Subject: [{ SubjectConfirmation: [confirmation(60), confirmation(3600), confirmation(-3600)] }],
      AuthnStatement: [{}],
    };
    const { until } = checkSubject(element, {
      issuer: 'https://idp.example.org/saml',
      recipient: CALLBACK,
      inResponseTo: null,
      now: NOW,
      skew: 0,
    });
    expect(until.toISOString()).toBe('2030-01-01T01:00:00.000Z');
  });
});
