/** A setting of the controller that is either on or off. */
export interface Switch {
  /** What the audit log calls changing it. */
  readonly operation: string;
  /** The controller's name of it. */
  readonly setting: 'AUTH_BASIC_ENABLED' | 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS';
  /** The words of the command line for true and for false. */
  readonly words: { readonly on: string; readonly off: string };
  /** How each state reads, as a phrase that "now" and "already" can follow. */
  readonly states: { readonly on: string; readonly off: string };
  /** How bringing it about reads: `turn basic authentication off`. */
  readonly acts: { readonly on: string; readonly off: string };
}

/** Whether requests may carry a user name and password (RFC 7617). */
export const basicAuthentication: Switch = {
  operation: 'settings.basic-auth',
  setting: 'AUTH_BASIC_ENABLED',
  words: { on: 'on', off: 'off' },
  states: { on: 'Basic authentication is on', off: 'Basic authentication is off' },
  acts: { on: 'turn basic authentication on', off: 'turn basic authentication off' },
};

/** Whether users who come from an identity provider may have tokens. */
export const externalTokens: Switch = {
  operation: 'settings.external-tokens',
  setting: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
  words: { on: 'allow', off: 'deny' },
  states: {
    on: 'New tokens for external users are allowed',
    off: 'New tokens for external users are denied',
  },
  acts: { on: 'allow external users to create tokens', off: 'stop external users from creating tokens' },
};
