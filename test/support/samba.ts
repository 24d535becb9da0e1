import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@tokenctl/testing/redis.ts';
import { until } from '@tokenctl/testing/until.ts';
import { Client } from 'ldapts';
import { ldif } from './slapd.ts';

/** The ports of LDAP cannot be chosen, so the server has an address of its own. */
const ADDRESS = '127.0.0.31';
/** Debian's own: the tool's modules are not those of another Python. */
const PYTHON = '/usr/bin/python3';
const TOOL = '/usr/bin/samba-tool';

/** Why there is no domain controller to test against; null if there is one. */
export const NO_SAMBA: string | null =
  !existsSync('/usr/sbin/samba') || !existsSync(TOOL)
    ? 'samba-ad-dc is not installed'
    : process.getuid?.() !== 0
      ? 'only root may listen on the port of LDAP'
      : null;

if (NO_SAMBA !== null) process.stderr.write(`Tests with Active Directory are skipped: ${NO_SAMBA}.\n`);

export const DOMAIN = 'DC=ad,DC=example,DC=org';
export const AD_PEOPLE = `OU=people,${DOMAIN}`;
export const AD_READER = { dn: 'reader@ad.example.org', password: 'Reader-password-hidden-1' };
/** An account whose password has to be changed. */
export const AD_OLD = { dn: 'old@ad.example.org', password: 'Old-password-hidden-1' };

/** A domain controller of a test's own. */
export interface Samba {
  readonly url: string;
  /** The file of the authority that signed its certificate. */
  readonly ca: string;
  /** As the administrator of the domain. */
  readonly admin: Client;
  readonly stop: () => Promise<void>;
}

/** A user below {@link AD_PEOPLE}, without a password. */
export function adUser(login: string, more: Readonly<Record<string, string>> = {}): string {
  return ldif(`CN=${login},${AD_PEOPLE}`, {
    objectClass: 'user',
    sAMAccountName: login,
    userPrincipalName: `${login}@ad.example.org`,
    mail: `${login}@example.org`,
    userAccountControl: '544',
    ...more,
  });
}

export function adGroup(name: string, member: readonly string[] = []): string {
  return ldif(`CN=${name},${AD_PEOPLE}`, {
    objectClass: 'group',
    sAMAccountName: name,
    ...(member.length > 0 && { member }),
  });
}

/** Adds entries without the server. One transaction of 20,000 gets slower with each entry, so each holds 500. */
const LOAD = `
import sys
from samba.samdb import SamDB
from samba.param import LoadParm
from samba.auth import system_session
lp = LoadParm()
lp.load(sys.argv[1])
db = SamDB(lp.private_path('sam.ldb'), session_info=system_session(lp), lp=lp)
db.transaction_start()
for count, (_, message) in enumerate(db.parse_ldif(open(sys.argv[2]).read()), 1):
    db.add(message)
    if count % 500 == 0:
        db.transaction_commit()
        db.transaction_start()
db.transaction_commit()
`;

/** Makes a domain with these entries and starts its controller. Takes half a minute, and 15 ms for each entry. */
export async function startSamba(entries: string): Promise<Samba> {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-samba-'));
  const { ca, cert, key } = makeCertificate(folder, `IP:${ADDRESS}`);
  const run = (program: string, ...args: readonly string[]) => {
    const done = spawnSync(program, args, { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`${program} ${args[1] ?? ''}: ${done.stderr}`);
  };
  run(
    TOOL,
    ...['domain', 'provision', `--targetdir=${folder}/dc`, '--realm=AD.EXAMPLE.ORG', '--domain=AD'],
    ...['--adminpass=Admin-password-1', '--server-role=dc', '--dns-backend=NONE', '--host-name=dc1'],
    ...[`--host-ip=${ADDRESS}`, '--option=interfaces=lo', '--option=bind interfaces only=yes'],
  );
  const configuration = join(folder, 'dc/etc/smb.conf');
  writeFileSync(join(folder, 'load.py'), LOAD);
  writeFileSync(
    join(folder, 'entries.ldif'),
    ldif(AD_PEOPLE, { objectClass: 'organizationalUnit', ou: 'people' }) + entries,
  );
  run(PYTHON, join(folder, 'load.py'), configuration, join(folder, 'entries.ldif'));
  const database = join(folder, 'dc/private/sam.ldb');
  for (const { dn, password } of [AD_READER, AD_OLD])
    run(
      TOOL,
      'user',
      'create',
      dn.replace(/@.*/, ''),
      password,
      '-H',
      database,
      `--configfile=${configuration}`,
    );
  run(
    TOOL,
    'user',
    'setpassword',
    'old',
    `--newpassword=${AD_OLD.password}`,
    '--must-change-at-next-login',
    '-H',
    database,
    `--configfile=${configuration}`,
  );
  mkdirSync(join(folder, 'log'));
  const options = {
    'server services': 'ldap',
    interfaces: `${ADDRESS}/8`,
    'log file': `${folder}/log/%m`,
    'tls certfile': cert,
    'tls keyfile': key,
    'tls cafile': ca,
    'pid directory': folder,
  };
  const server = spawn(
    '/usr/sbin/samba',
    [
      '-i',
      '-M',
      'single',
      '-s',
      configuration,
      ...Object.entries(options).map(([name, value]) => `--option=${name}=${value}`),
    ],
    { stdio: ['pipe', 'ignore', 'ignore'] },
  );
  const kill = () => server.kill();
  process.once('exit', kill);
  const url = `ldaps://${ADDRESS}`;
  const tlsOptions = { rejectUnauthorized: false };
  const admin = new Client({ url, timeout: 60_000, tlsOptions });
  const refused = () =>
    admin.bind('administrator@ad.example.org', 'Admin-password-1').then(
      () => null,
      (error: unknown) => error,
    );
  const ready = (error: unknown) => error === null || server.exitCode !== null;
  const failure = await until(refused, ready);
  if (failure !== null) throw failure;
  return {
    url,
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
