import { allowsWriting } from '../token.ts';
import type { TokenRule } from './rule.ts';

/** Finds tokens that may change things: all that are made without naming a scope. */
export const writeScope: TokenRule = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: [],
  help: {
    finds: 'An access token whose scope includes write.',
    matters:
      'It may change whatever its owner may change. Write is what a token gets when nobody asks for less.',
    remedy:
      'Where reading is enough, replace it by a token of scope read. write-unneeded says where that is likely.',
    reference: 'RFC 9700, section 2.3: access token privilege restriction',
  },
  prepare: () => ({ breaks: allowsWriting, message: () => 'It may change whatever its owner may change.' }),
};
