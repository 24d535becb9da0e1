import { isLoopback } from '@tokenctl/common/network-address.ts';
import { limitText, standbyText } from '../../domain/claims.ts';
import { clockText } from '../../domain/clock-difference.ts';
import { type Compatibility, compatibilityOf } from '../../domain/tried-versions.ts';
import type { Clock } from '../ports/clock.ts';
import type {
  Capabilities,
  MissingRight,
  RightsPurpose,
  Target,
  TargetDescription,
} from '../ports/target.ts';
import { RIGHTS_TEXT } from '../scope/visibility.ts';
import { expiryWarning, type OwnToken, ownToken } from './own-token.ts';

/** A target's description, with warnings for the caller. */
export type CheckedTarget = Omit<TargetDescription, 'capabilities'> & {
  readonly capabilities: CheckedCapabilities;
  /** Null without a token, or if the target does not list it. */
  readonly ownToken: OwnToken | null;
  readonly warnings: readonly string[];
  readonly compatibility: Compatibility;
};

export type CheckedCapabilities = Capabilities & {
  /** Refresh tokens can be listed and revoked without their value. */
  readonly refreshTokens: boolean;
  /** Authorization codes can be listed and deleted without their value. */
  readonly authorizationCodes: boolean;
  /** Sessions can be listed and ended. */
  readonly sessions: boolean;
  /** Settings can be read and, with the rights, written. */
  readonly settings: boolean;
  /** Tokens can be created: for the caller, or with a database for any user. */
  readonly createTokens: boolean;
  /** Passwords can be set and tested over REST; absent if not. */
  readonly setPasswords?: true;
  /** How the owner of a token's value is found: by its hash in the tables, or by presenting it. */
  readonly identifies: Target['identifies'];
};

/** A controller and its gateway have one settings table each. */
function isReadOfSettings({ purpose, grant }: MissingRight): boolean {
  return purpose === 'read' && /\.(conf_setting|aap_gateway_api_preference) TO /.test(grant);
}

/** The parts of the target, and what the account or role may do with them. */
function checkedCapabilities(target: Target, { capabilities, identity, missingRights }: TargetDescription) {
  const { refreshTokens, authorizationCodes, sessions, passwords, identifies } = target;
  const { isSuperuser, isSystemAuditor } = identity;
  return {
    ...capabilities,
    refreshTokens: refreshTokens !== undefined,
    authorizationCodes: authorizationCodes !== undefined,
    sessions: sessions !== undefined,
    settings:
      identifies === 'by_hash' ? !missingRights.some(isReadOfSettings) : isSuperuser || isSystemAuditor,
    createTokens: capabilities.changes && missingRights.every(({ purpose }) => purpose !== 'create'),
    ...(passwords && capabilities.changes && isSuperuser && { setPasswords: true as const }),
    identifies,
  };
}

/**
 * Describes a target and the caller's account there, with warnings about what limits token administration.
 * Reads only.
 * @throws What the target throws: with distinct errors for a wrong name, port, certificate or credential.
 */
export async function checkTarget(options: { target: Target; clock: Clock }): Promise<CheckedTarget> {
  const { target, clock } = options;
  const description = await target.describe();
  const own = await ownToken(target, description);
  const expiry = own === null ? null : expiryWarning(own, clock.now());
  return {
    ...description,
    capabilities: checkedCapabilities(target, description),
    ownToken: own,
    warnings: [...warnings(description), ...(expiry === null ? [] : [expiry])],
    compatibility: compatibilityOf(description),
  };
}

function warnings(description: TargetDescription): string[] {
  return [
    ...standbyWarnings(description),
    ...[clockText(description)].filter((text) => text !== null),
    ...wayWarnings(description),
    ...storageWarnings(description),
    ...cacheWarnings(description),
    ...(description.credential === 'database_role'
      ? roleWarnings(description)
      : accountWarnings(description)),
  ];
}

function standbyWarnings(description: TargetDescription): string[] {
  const standby = standbyText(description);
  return standby === null
    ? []
    : [`${standby}. It is read-only. Use the primary for changes, and to check their results.`];
}

/** What can be observed or modified on the network path. */
function wayWarnings({ transport, address }: TargetDescription): string[] {
  if ((transport === 'http' || transport === 'plain') && !isLoopback(new URL(address).hostname)) {
    return ['The connection is not encrypted: the credential can be intercepted.'];
  }
  if (transport === 'https_unverified') {
    return ['The certificate is not verified: the controller could be impersonated.'];
  }
  if (transport === 'tls_unverified') {
    return ['The certificate is not verified: the database could be impersonated.'];
  }
  return [];
}

function storageWarnings({ tokensInClear, unhashedTokens, context }: TargetDescription): string[] {
  return [
    ...(tokensInClear === true
      ? [
          'This gateway stores working tokens in clear text, so backups of its database contain them. Upgrade it.',
        ]
      : []),
    ...(unhashedTokens == null ? [] : [unhashedText(unhashedTokens, context)]),
  ];
}

/** Seen on a gateway that hashes tokens: it accepts neither the stored text nor a token with this hash. */
function unhashedText(
  { hashes, count, ids }: NonNullable<TargetDescription['unhashedTokens']>,
  context: string,
): string {
  const tokens = count === 1 ? '1 live token is' : `${count} live tokens are`;
  const known = hashes
    ? 'This gateway hashes tokens, so it does not accept these'
    : 'A gateway that hashes tokens does not accept these. One that stores them in clear text accepts the stored text';
  const selection = ids.map((id) => `--id ${id}`).join(' ');
  const rest = count > ids.length ? `, and repeat this for the other ${count - ids.length}` : '';
  return `${tokens} stored without the prefix of a gateway's hashes, as tokenctl did before 0.2. ${known}. Revoke them with \`tokenctl tokens revoke ${selection} --context ${context}\`${rest}, and then create new ones.`;
}

/** Without access to the cache, sessions of a gateway are ended only in the database. */
function cacheWarnings({ sessionCache }: TargetDescription): string[] {
  const { addresses = [], problem = null } = sessionCache ?? {};
  const isExposed = addresses.some(
    (address) => address.startsWith('redis:') && !isLoopback(new URL(address).hostname),
  );
  return [
    ...(isExposed ? ['The connection to the session cache is not encrypted.'] : []),
    ...(problem === null
      ? []
      : [`${problem}. Sessions are ended only in the database, and can be accepted until they expire.`]),
  ];
}

function accountWarnings({ identity, visibility, credential, capabilities }: TargetDescription): string[] {
  const found: string[] = [];
  if (!capabilities.changes) {
    found.push("The token's scope does not include write, so it cannot revoke or change anything.");
  }
  if (!identity.isSuperuser && !identity.isSystemAuditor) {
    found.push(`${limitText({ identity, visibility }) ?? identity.username}, and no settings.`);
  }
  if (!identity.isSuperuser && identity.isSystemAuditor) {
    found.push(
      `${identity.username} is a system auditor: it can see every token, but can only revoke its own.`,
    );
  }
  if (credential === 'password') {
    found.push('The credential is a password: it stops working when basic authentication is turned off.');
  }
  return found;
}

const PURPOSES: Readonly<Record<RightsPurpose, string>> = {
  ...RIGHTS_TEXT,
  read: 'read tokens',
  cleanup: 'delete expired and revoked tokens',
  contacts: 'read the email addresses of owners',
};

/** What the database role may not do; `missingRights` has the grants that allow it. */
function roleWarnings({ identity, missingRights }: TargetDescription): string[] {
  const purposes = new Set(missingRights.map(({ purpose }) => purpose));
  return Array.from(purposes, (purpose) => `The role ${identity.username} cannot ${PURPOSES[purpose]}.`);
}
