import { boolean, string } from '@oclif/core/flags';
import {
  allContextsFlag,
  breakGlassFlag,
  type ChangeFlags,
  changeFlags,
  type FlagsOf,
  seconds,
} from '../flags/flags.ts';

/** For commands that turn Basic authentication off. */
export const rescueFlag = {
  'rescue-token': string({
    summary: 'If this context uses a password, first create a token in this new file and continue with it.',
    helpGroup: 'CHANGE',
    helpValue: 'FILE',
  }),
};

/** The parsed flags of commands that may create a rescue token. */
export type RescueFlags = ChangeFlags & FlagsOf<typeof rescueFlag>;

export const basicAuthFlags = { ...rescueFlag, ...changeFlags, ...allContextsFlag };

export const externalTokensFlags = {
  'revoke-existing': boolean({ summary: 'With deny, revoke the existing tokens of external users.' }),
  ...changeFlags,
  ...breakGlassFlag,
  ...allContextsFlag,
};

export const lifetimeFlags = {
  access: seconds({ summary: 'The lifetime of new access tokens.' }),
  refresh: seconds({ summary: 'The lifetime of refresh tokens.' }),
  code: seconds({ summary: 'The lifetime of authorization codes.' }),
  ...changeFlags,
  ...allContextsFlag,
};

export type LifetimeFlags = FlagsOf<typeof lifetimeFlags>;
