import { words } from '@tokenctl/common/text.ts';

/** A directory as the controller's own settings describe it, without a password. */
export interface LdapDraft {
  /** `ldap`, or `ldap-1` to `ldap-5` for the further servers of a controller. */
  readonly name: string;
  readonly kind: 'ldap' | 'active-directory';
  readonly url: readonly string[];
  readonly startTls?: true;
  readonly bindDn: string;
  readonly base: readonly string[];
  readonly filter: string;
  readonly loginAttribute: readonly string[];
  readonly mailAttribute?: string;
  readonly groups?: readonly string[];
}

/** A controller has one LDAP server and up to five more. */
const SERVERS = ['', '1_', '2_', '3_', '4_', '5_'];
/** The settings read for each server: never the password. */
const NAMES = words('SERVER_URI START_TLS BIND_DN USER_SEARCH USER_DN_TEMPLATE USER_ATTR_MAP REQUIRE_GROUP');

/** The settings from which {@link ldapDrafts} drafts (AWX's documentation; not seen on a controller). */
export const LDAP_SETTINGS: readonly string[] = SERVERS.flatMap((server) =>
  NAMES.map((name) => `AUTH_LDAP_${server}${name}`),
);

/** Drafts of the controller's login directories. A server without address, account or base has none. */
export function ldapDrafts(settings: ReadonlyMap<string, unknown>): readonly LdapDraft[] {
  return SERVERS.flatMap((server) => {
    const draft = draftOf((name) => settings.get(`AUTH_LDAP_${server}${name}`));
    return draft === null
      ? []
      : [{ name: `ldap${server === '' ? '' : `-${server.slice(0, -1)}`}`, ...draft }];
  });
}

function draftOf(setting: (name: string) => unknown): Omit<LdapDraft, 'name'> | null {
  // Several addresses are separated by spaces or commas.
  const url = text(setting('SERVER_URI'))
    .split(/[\s,]+/)
    .filter(Boolean);
  const bindDn = text(setting('BIND_DN'));
  const place = searchOf(setting('USER_SEARCH')) ?? templateOf(text(setting('USER_DN_TEMPLATE')));
  if (url.length === 0 || bindDn === '' || place === null) return null;
  const group = text(setting('REQUIRE_GROUP'));
  const map = setting('USER_ATTR_MAP');
  const mail = typeof map === 'object' && map !== null ? text((map as Record<string, unknown>)['email']) : '';
  const isActiveDirectory = /^(?:sAMAccountName|userPrincipalName)$/i.test(place.login);
  return {
    kind: isActiveDirectory ? 'active-directory' : 'ldap',
    url,
    ...(setting('START_TLS') === true && { startTls: true }),
    bindDn,
    base: place.base,
    filter: place.filter,
    loginAttribute: [place.login],
    ...(mail !== '' && { mailAttribute: mail }),
    ...(group !== '' && { groups: [group] }),
  };
}

interface Place {
  readonly base: readonly string[];
  readonly filter: string;
  readonly login: string;
}

const USER = '%(user)s';

/** `[base, scope, filter]`, or a list of these whose filters are the same. */
function searchOf(value: unknown): Place | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const list = (Array.isArray(value[0]) ? value : [value]) as unknown[];
  const searches = list.map((each) => (Array.isArray(each) ? (each as unknown[]) : []));
  const [first = ''] = searches.map(([, , filter]) => text(filter));
  const [, login = ''] = /\(([\w-]+)=%\(user\)s\)/.exec(first) ?? [];
  const isOne = searches.every(([, , filter]) => text(filter) === first);
  const base = searches.map(([name]) => text(name));
  if (login === '' || !isOne || base.includes('')) return null;
  return { base, filter: first.replaceAll(USER, '*'), login };
}

/** `uid=%(user)s,ou=people,dc=example,dc=org` */
function templateOf(template: string): Place | null {
  const [, login = '', base = ''] = /^([\w-]+)=%\(user\)s,(.+)$/.exec(template) ?? [];
  return login === '' ? null : { base: [base], filter: `(${login}=*)`, login };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
