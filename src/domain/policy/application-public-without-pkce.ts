import type { ApplicationRule } from './rule.ts';

/** Finds public clients of the authorization code grant: the controller lets them do without PKCE. */
export const applicationPublicWithoutPkce: ApplicationRule = {
  judges: 'applications',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['applications', 'pkce'],
  help: {
    finds:
      'A public application of the authorization code grant, on a controller that does not require PKCE.',
    matters: 'It has no secret, so that whoever intercepts a code can change it for tokens.',
    remedy: 'Make sure that the program sends a code challenge (S256), and record that as an exception.',
    reference: 'RFC 9700, section 2.1.1: public clients MUST use PKCE',
  },
  prepare: () => ({
    breaks: ({ clientType, grantType }) => clientType === 'public' && grantType === 'authorization-code',
    message: () => 'It is public and uses authorization codes, and this controller does not require PKCE.',
  }),
};
