import { eitherOf } from '../selector.ts';

/** Which kinds of identity provider an account can come from, in the controller's words; `any` is every one. */
export const providers = ['ldap', 'social', 'enterprise', 'any'] as const;

/** One of {@link providers}. */
export type Provider = (typeof providers)[number];

/** Whom or what a lockdown is about. */
export type LockdownScope =
  | { readonly kind: 'users'; readonly names: readonly string[] }
  | { readonly kind: 'applications'; readonly names: readonly string[] }
  | { readonly kind: 'identity_provider'; readonly provider: Provider }
  | { readonly kind: 'all' };

/** What a lockdown does besides revoking tokens and ending sessions. */
export interface Measures {
  /** Turns basic authentication off. */
  readonly basicAuthentication: boolean;
  /** Stops external users from creating tokens. */
  readonly externalTokens: boolean;
  /** Deactivates the users that are meant, but the caller and these. */
  readonly deactivate: boolean;
  readonly keepActive: readonly string[];
  /** Shortens the lifetimes of new tokens. */
  readonly lifetimes: boolean;
}

/** A scope in words, as the end of a sentence. */
export function describeScope(scope: LockdownScope): string {
  switch (scope.kind) {
    case 'users':
      return `the access of ${eitherOf(scope.names)}`;
    case 'applications':
      return `the tokens of the application ${eitherOf(scope.names)}`;
    case 'identity_provider':
      return scope.provider === 'any'
        ? 'the access of all users of identity providers'
        : `the access of all users of identity providers of the kind ${scope.provider}`;
    case 'all':
      return "everybody's access";
  }
}
