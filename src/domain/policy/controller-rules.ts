import type { ApplicationRule } from './rule.ts';

/** Finds applications of the implicit grant, which hands tokens out in an address. */
export const applicationImplicit: ApplicationRule = {
  judges: 'applications',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: ['applications'],
  help: {
    finds: 'An application of the implicit grant.',
    matters: 'Its tokens come in an address, which browsers keep, send as referrer, and anybody can put in.',
    remedy: 'Register it again with the authorization code grant and PKCE.',
    reference: 'RFC 9700, section 2.1.2: clients SHOULD NOT use the implicit grant',
  },
  prepare: () => ({
    breaks: ({ grantType }) => grantType === 'implicit',
    message: () => 'It uses the implicit grant, which hands its tokens out in an address.',
  }),
};
