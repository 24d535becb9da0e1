import net from 'node:net';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LdapConnection, type LdapServer } from '../../../src/directories/ldap-connection.ts';
import { readFilter } from '../../../src/directories/ldap-users.ts';
import { entry, ldapServer, reference, result, type Script } from '../../support/ldap-wire.ts';

const PATIENT = { connect: 600_000, silence: 600_000, whole: 600_000 };
const QUICK = { ...PATIENT, connect: NO_ANSWER_MS, silence: NO_ANSWER_MS };
const SEARCH = {
  base: 'dc=x',
  scope: 'sub',
  filter: readFilter('(uid=*)', 'filter'),
  attributes: ['uid'],
} as const;

/** The names of the entries that a server gives, or how the reading ended. */
async function read(script: Script, server: Partial<LdapServer> = {}) {
  const { url, connections } = await ldapServer(script);
  const names: string[] = [];
  try {
    const connection = await LdapConnection.open({
      name: 'It',
      url,
      startTls: false,
      limits: PATIENT,
      ...server,
    });
    onTestFinished(() => connection.close());
    await connection.bind('cn=reader', new Secret('hidden-password'));
    for await (const { name } of connection.search(SEARCH)) names.push(name);
    return { names, connections: connections() };
  } catch (error) {
    expect(String(error)).not.toContain('hidden');
    return { error, names, connections: connections() };
  }
}

/** Answers each search with the next of these pages; the last one again and again. */
function pages(...answers: readonly ((id: number) => readonly Buffer[])[]): Script {
  let next = 0;
  return ({ id }, socket) =>
    socket.write(Buffer.concat(answers[Math.min(next++, answers.length - 1)]?.(id) ?? []));
}

describe('a search', () => {
  test('goes on after a page without entries, until there is no cookie', async () => {
    const script = pages(
      (id) => [entry(id, 'a'), result(id, 'done', 0, { cookie: 'one' })],
      (id) => [result(id, 'done', 0, { cookie: 'two' })],
      (id) => [entry(id, 'b'), result(id, 'done', 0, { cookie: '' })],
    );
    expect(await read(script)).toEqual({ names: ['uid=a,dc=x', 'uid=b,dc=x'], connections: 1 });
  });

  test('reads messages that arrive byte by byte', async () => {
    const script: Script = ({ id }, socket) => {
      for (const byte of Buffer.concat([entry(id, 'a'), result(id, 'done')])) socket.write(Buffer.of(byte));
    };
    expect(await read(script)).toMatchObject({ names: ['uid=a,dc=x'] });
  });

  test('leaves out the references that every Active Directory gives', async () => {
    const zones = 'ldap://ForestDnsZones.ad.example.org/DC=ForestDnsZones,DC=ad,DC=example,DC=org';
    const settings = 'ldap://ad.example.org/CN=Configuration,DC=ad,DC=example,DC=org';
    const script = pages((id) => [
      entry(id, 'a'),
      reference(id, zones),
      reference(id, settings),
      result(id, 'done'),
    ]);
    expect(await read(script)).toMatchObject({ names: ['uid=a,dc=x'] });
  });

  test('reads pages of the same cookie, as Samba gives them', async () => {
    const paged = ['a', 'b', 'c'].map((name, index) => (id: number) => [
      entry(id, name),
      result(id, 'done', 0, index === 2 ? {} : { cookie: 'same' }),
    ]);
    expect(await read(pages(...paged))).toMatchObject({ names: ['uid=a,dc=x', 'uid=b,dc=x', 'uid=c,dc=x'] });
  });

  const firstPage = (id: number) => [entry(id, 'a'), result(id, 'done', 0, { cookie: 'one' })];
  test.each<[string, Script, string, RegExp]>([
    [
      'a connection that is cut in the middle of a page',
      ({ id }, socket) => socket.end(entry(id, 'a')),
      'target_unreachable',
      /closed the connection before the response was complete/,
    ],
    [
      'a full page that does not say whether there are more',
      pages((id) => [
        ...Array.from({ length: 500 }, (_, index) => entry(id, `u${index}`)),
        result(id, 'done'),
      ]),
      'target_misbehaved',
      /sent a full page of 500 entries without saying whether there are more/,
    ],
    [
      'a connection that is cut between pages',
      ({ id }, socket) => socket.end(Buffer.concat(firstPage(id))),
      'target_unreachable',
      /closed the connection/,
    ],
    [
      'a connection that is cut in the middle of an entry',
      ({ id }, socket) => socket.end(entry(id, 'a').subarray(0, 20)),
      'target_unreachable',
      /closed the connection/,
    ],
    [
      'sizeLimitExceeded',
      pages((id) => [entry(id, 'a'), result(id, 'done', 4)]),
      'target_misbehaved',
      /sizeLimitExceeded/,
    ],
    [
      'timeLimitExceeded',
      pages((id) => [entry(id, 'a'), result(id, 'done', 3)]),
      'target_misbehaved',
      /timeLimitExceeded/,
    ],
    [
      'adminLimitExceeded',
      pages((id) => [result(id, 'done', 11)]),
      'target_misbehaved',
      /adminLimitExceeded/,
    ],
    ['a referral', pages((id) => [result(id, 'done', 10)]), 'target_misbehaved', /referral/],
    [
      'a server without paging',
      pages((id) => [result(id, 'done', 12)]),
      'unsupported',
      /unavailableCriticalExtension/,
    ],
    ['a server that is busy', pages((id) => [result(id, 'done', 51)]), 'target_unreachable', /busy/],
    [
      'another error',
      pages((id) => [result(id, 'done', 80, { text: 'hidden' })]),
      'target_misbehaved',
      /code 80/,
    ],
    [
      'a reference to another server',
      pages((id) => [
        entry(id, 'a'),
        reference(id, 'ldap://other.example.org/OU=more,DC=x??sub'),
        result(id, 'done'),
      ]),
      'target_misbehaved',
      /refers to another server for OU=more,DC=x\./,
    ],
    ['the same page again and again', pages(firstPage), 'target_misbehaved', /same next page twice/],
    [
      'an answer that no one asked for',
      pages((id) => [entry(id + 7, 'a')]),
      'target_misbehaved',
      /not requested/,
    ],
    [
      'a notice of disconnection',
      pages(() => [result(0, 'extended', 52)]),
      'target_unreachable',
      /unavailable/,
    ],
    [
      'a message of 4 GB',
      (_, socket) => socket.write(Buffer.from('3084ffffffff', 'hex')),
      'target_misbehaved',
      /cannot be parsed/,
    ],
    [
      'a web server',
      (_, socket) => socket.write('HTTP/1.1 400 Bad Request'),
      'target_misbehaved',
      /cannot be parsed/,
    ],
    [
      'a message that is damaged',
      ({ id }, socket) => socket.write(Buffer.concat([entry(id, 'a').fill(0xff, 8), result(id, 'done')])),
      'target_misbehaved',
      /cannot be parsed/,
    ],
  ])('ends with an error at %s', async (_, script, code, message) => {
    const { error, connections } = await read(script);
    expect(error).toMatchObject({ code });
    expect(String(error)).toMatch(message);
    expect(connections).toBe(1);
  });

  const endless: Script = ({ id }, socket) => {
    const timer = setInterval(() => socket.write(entry(id, 'a')), 50);
    socket.on('close', () => clearInterval(timer));
  };
  test.each<[string, Script, LdapServer['limits'], RegExp]>([
    ['a server that is silent', () => undefined, QUICK, /sent nothing for 1 s/],
    ['a server that is silent after the first page', pages(firstPage, () => []), QUICK, /sent nothing for/],
    ['entries without an end', endless, { ...PATIENT, whole: NO_ANSWER_MS }, /did not end within/],
  ])('gives up on %s', async (_, script, limits, message) => {
    const { error } = await read(script, { limits });
    expect(error).toMatchObject({ code: 'target_unreachable', message: expect.stringMatching(message) });
  });

  test('ends when it is interrupted', async () => {
    const interrupt = new AbortController();
    const { error } = await read(() => interrupt.abort(), { signal: interrupt.signal });
    expect(error).toMatchObject({ code: 'interrupted' });
  });
});

describe('a connection', () => {
  test.each<[string, Script, string, RegExp]>([
    [
      'refuses StartTLS',
      ({ id }, socket) => socket.write(result(id, 'extended', 2)),
      'target_misbehaved',
      /code 2/,
    ],
    [
      'is silent after StartTLS',
      ({ id, kind }, socket) => kind === 'extended' && socket.write(result(id, 'extended')),
      'target_unreachable',
      /timeout/,
    ],
    [
      'sends more in clear text after StartTLS',
      ({ id }, socket) =>
        socket.write(Buffer.concat([result(id, 'extended'), result(id + 1, 'bind').subarray(0, 5)])),
      'target_misbehaved',
      /before the encryption/,
    ],
  ])('to a server that %s sends no password', async (_, script, code, message) => {
    let binds = 0;
    const { error } = await read(
      (asked, socket) => {
        if (asked.kind === 'bind') binds += 1;
        script(asked, socket);
      },
      { startTls: true, limits: QUICK },
    );
    expect(error).toMatchObject({ code });
    expect(String(error)).toMatch(message);
    expect(binds).toBe(0);
  });

  test.each(['ldap:', 'ldaps:'])(
    'by %s to a server that accepts and says nothing has a limit',
    async (protocol) => {
      const server = net.createServer(() => undefined);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void server.close());
      const { port } = server.address() as net.AddressInfo;
      const opening = LdapConnection.open({
        name: 'It',
        url: new URL(`${protocol}//127.0.0.1:${port}`),
        startTls: protocol === 'ldap:',
        limits: QUICK,
      });
      await expect(opening).rejects.toMatchObject({ code: 'target_unreachable' });
    },
  );
});
