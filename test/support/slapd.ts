import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, makeCertificate } from '@tokenctl/testing/redis.ts';
import { until } from '@tokenctl/testing/until.ts';
import { Client } from 'ldapts';

const SLAPD = '/usr/sbin/slapd';

/** Why there is no OpenLDAP server to test against; null if there is one. */
export const NO_SLAPD: string | null = existsSync(SLAPD) ? null : 'slapd is not installed';

if (NO_SLAPD !== null) process.stderr.write(`Tests with OpenLDAP are skipped: ${NO_SLAPD}.\n`);

export const SUFFIX = 'dc=example,dc=org';
export const PEOPLE = `ou=people,${SUFFIX}`;
export const GROUPS = `ou=groups,${SUFFIX}`;
/** The account that reads, with its password. */
export const READER = { dn: `cn=reader,${SUFFIX}`, password: 'reader-password-hidden' };
/** One that may read 100 entries at a time only. */
export const LIMITED = { dn: `cn=limited,${SUFFIX}`, password: 'limited-password-hidden' };
/** One whose password has expired, and one whose password has to be changed. */
export const OLD = { dn: `cn=old,${SUFFIX}`, password: 'old-password-hidden' };
export const RESET = { dn: `cn=reset,${SUFFIX}`, password: 'reset-password-hidden' };

/** An OpenLDAP server of a test's own, with nothing below its suffix but what the test adds. */
export interface Slapd {
  readonly url: string;
  /** The same by ldaps, with a certificate for localhost. */
  readonly secureUrl: string;
  /** The file of the authority that signed the certificate. */
  readonly ca: string;
  /** As the administrator. */
  readonly admin: Client;
  readonly stop: () => Promise<void>;
}

/** An entry in LDIF (RFC 2849). */
export function ldif(dn: string, attributes: Readonly<Record<string, string | readonly string[]>>): string {
  const lines = Object.entries(attributes).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  return [`dn: ${dn}`, ...lines, '', ''].join('\n');
}

/** A person below {@link PEOPLE}. */
export function person(uid: string, more: Readonly<Record<string, string | readonly string[]>> = {}): string {
  return ldif(`uid=${uid},${PEOPLE}`, {
    objectClass: ['inetOrgPerson', 'shadowAccount'],
    uid,
    cn: uid,
    sn: uid,
    mail: `${uid}@example.org`,
    ...more,
  });
}

/** Loads entries and starts the server on free ports. */
export async function startSlapd(entries: string): Promise<Slapd> {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-slapd-'));
  const { ca, cert, key } = makeCertificate(folder);
  const configuration = join(folder, 'slapd.conf');
  writeFileSync(configuration, configurationOf({ folder, ca, cert, key }));
  const loaded = spawnSync('/usr/sbin/slapadd', ['-q', '-f', configuration], {
    input: base() + entries,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (loaded.status !== 0) throw new Error(`slapadd: ${loaded.stderr}`);
  const [port, securePort] = [await freePort(), await freePort()];
  const urls = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${securePort}/`;
  const server = spawn(SLAPD, ['-h', urls, '-f', configuration, '-d', '0'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const kill = () => server.kill();
  process.once('exit', kill);
  const url = `ldap://localhost:${port}`;
  const admin = new Client({ url, timeout: 10_000 });
  const refused = () =>
    admin.bind(`cn=admin,${SUFFIX}`, 'admin-password').then(
      () => null,
      (error: unknown) => error,
    );
  const ready = (error: unknown) => error === null || server.exitCode !== null;
  const failure = await until(refused, ready);
  if (failure !== null) throw failure;
  return {
    url,
    secureUrl: `ldaps://localhost:${securePort}`,
    ca,
    admin,
    async stop() {
      await admin.unbind();
      const ended = new Promise((resolve) => server.once('exit', resolve));
      process.off('exit', kill);
      server.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configurationOf({
  folder,
  ca,
  cert,
  key,
}: Readonly<Record<'folder' | 'ca' | 'cert' | 'key', string>>) {
  return `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload ppolicy
TLSCACertificateFile ${ca}
TLSCertificateFile ${cert}
TLSCertificateKeyFile ${key}
database mdb
suffix "${SUFFIX}"
rootdn "cn=admin,${SUFFIX}"
rootpw admin-password
directory ${folder}
maxsize 1073741824
dbnosync
index objectClass,uid,entryUUID eq
limits dn.exact="${READER.dn}" size=unlimited time=unlimited
limits dn.exact="${LIMITED.dn}" size=100
access to attrs=userPassword by anonymous auth by * none
access to dn.regex="^cn=unread[^,]*,${GROUPS}$" attrs=member,memberUid by * none
access to * by users read
overlay ppolicy
`;
}

function base(): string {
  const account = ({ dn, password }: typeof READER, policy: Readonly<Record<string, string>> = {}) =>
    ldif(dn, {
      objectClass: ['organizationalRole', 'simpleSecurityObject'],
      cn: dn.slice(3, dn.indexOf(',')),
      userPassword: password,
      ...policy,
    });
  const pwdPolicySubentry = `cn=policy,${SUFFIX}`;
  return [
    ldif(SUFFIX, { objectClass: ['dcObject', 'organization'], o: 'Example', dc: 'example' }),
    ldif(PEOPLE, { objectClass: 'organizationalUnit', ou: 'people' }),
    ldif(GROUPS, { objectClass: 'organizationalUnit', ou: 'groups' }),
    account(READER),
    account(LIMITED),
    ldif(pwdPolicySubentry, {
      objectClass: ['device', 'pwdPolicy'],
      cn: 'policy',
      pwdAttribute: 'userPassword',
      pwdMaxAge: '86400',
      pwdMustChange: 'TRUE',
    }),
    account(OLD, { pwdPolicySubentry, pwdChangedTime: '20200101000000Z' }),
    account(RESET, { pwdPolicySubentry, pwdReset: 'TRUE' }),
  ].join('');
}
