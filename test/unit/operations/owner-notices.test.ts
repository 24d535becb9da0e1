import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, test } from 'vitest';
import { ownerNotices } from '../../../jobs/owner-notices.ts';
import { defaultTemplate } from '../../../src/domain/owner-mail.ts';
import { openMailer } from '../../../src/notify/email.ts';
import type { Mail, Mailer } from '../../../src/operations/ports/notifier.ts';
import {
  type OwnerNoticeRules,
  planOwnerNotices,
} from '../../../src/operations/token-audit/owner-notices.ts';
import { mailFor, sendOwnerNotices } from '../../../src/operations/token-audit/send-owner-notices.ts';
import { stillClock } from '../../support/drafts.ts';
import { failingFrom, fixture } from '../../support/fixture.ts';
import { mailServer } from '../../support/mail-server.ts';
import { token } from '../../support/tokens.ts';
import { unusedServices } from '../../support/unused-files.ts';

const DAY = 86_400_000;

const RULES: OwnerNoticeRules = {
  thresholds: [30, 7, 1],
  revoked: true,
  revokedWithin: 7 * DAY,
  optOut: [],
  domains: [],
  atMost: 100,
  template: defaultTemplate,
  organizations: {},
};

type World = Awaited<ReturnType<typeof fixture>>;

/** alice, bob and carol own a token each that expires in six days; carol has no address. */
async function estate(): Promise<World> {
  const world = await fixture();
  const expires = new Date(stillClock.now().getTime() + 6.5 * DAY);
  ['alice', 'bob', 'carol'].forEach((username, index) => {
    const id = index + 1;
    world.target.alive.set(
      id,
      token({ id, user: { id, username }, expires, description: `for ${username}` }),
    );
  });
  world.target.addresses = new Map([
    ['alice', { email: 'alice@example.org', organizations: ['Engineering'] }],
    ['bob', { email: 'bob@example.net', organizations: [] }],
    ['carol', { email: null, organizations: [] }],
  ]);
  return world;
}

/** Takes every mail, unless it is told otherwise. */
class Postbox implements Mailer {
  readonly name = 'postbox';
  readonly taken: Mail[] = [];
  answer: (mail: Mail) => 'sent' | 'refused' | TokenctlError = () => 'sent';

  send(mail: Mail): Promise<'sent' | 'refused'> {
    const answer = this.answer(mail);
    if (answer instanceof TokenctlError) return Promise.reject(answer);
    if (answer === 'sent') this.taken.push(mail);
    return Promise.resolve(answer);
  }

  close = () => Promise.resolve();
}

const planAt = ({ common }: World, rules = RULES) => planOwnerNotices({ ...common, rules });

async function run(world: World, mailer: Mailer, rules = RULES, other: object = {}) {
  const plan = await planAt(world, rules);
  return await sendOwnerNotices({ ...world.common, ...other, plan, rules, mailer });
}

describe('mail to owners', () => {
  test('tells each owner once, lists those without an address, and survives a new process', async () => {
    await using world = await estate();
    const box = new Postbox();
    const first = await run(world, box);
    expect(first).toMatchObject({ planned: 2, sent: 2, failed: [], undeliverable: [], notTried: 0 });
    expect(first.unreachable).toEqual([{ owner: 'carol', why: 'no_address', tokens: 1 }]);
    expect(box.taken.map(({ to }) => to)).toEqual(['alice@example.org', 'bob@example.net']);
    expect(box.taken[0]?.text).toContain('token 1 (personal, scope read, "for alice"): expires');
    expect(box.taken[0]?.text).toContain('in 6 days');
    expect(box.taken[0]?.text).not.toContain('token 2');
    const log = JSON.stringify(await world.entries());
    expect(log).not.toMatch(/(alice|bob)@/);

    // Another postbox, another plan: only the log knows.
    const again = new Postbox();
    expect(await run(world, again)).toMatchObject({ planned: 0, sent: 0, toldBefore: 2 });
    expect(again.taken).toEqual([]);
    // The next threshold is another thing.
    for (const each of [...world.target.alive.values()]) {
      world.target.alive.set(each.id, { ...each, expires: new Date(stillClock.now().getTime() + DAY / 2) });
    }
    expect(await run(world, again)).toMatchObject({ sent: 2 });
  });

  test('tells of tokens that tokenctl revoked, in the same mail as those that expire', async () => {
    await using world = await estate();
    const user = { id: 1, username: 'alice' };
    world.target.alive.set(9, token({ id: 9, user }));
    await world.revokeAll({ selector: { ids: [9] } });
    const box = new Postbox();
    await run(world, box);
    expect(box.taken).toHaveLength(2);
    expect(box.taken[0]?.text).toMatch(/token 1 [\s\S]*token 9: revoked 20\d\d-/);
    expect(await planAt(world)).toMatchObject({ digests: [], toldBefore: 3 });
    await using quiet = await estate();
    await quiet.revokeAll({ selector: { ids: [2] } });
    expect((await planAt(quiet, { ...RULES, revoked: false })).digests.map(({ owner }) => owner)).toEqual([
      'alice',
    ]);
  });

  test('of two runs at the same time is sent by one', async () => {
    await using world = await estate();
    const box = new Postbox();
    const plan = await planAt(world);
    const send = () => sendOwnerNotices({ ...world.common, plan, rules: RULES, mailer: box });
    const reports = await Promise.all([send(), send(), send()]);
    expect(box.taken.map(({ to }) => to).sort()).toEqual(['alice@example.org', 'bob@example.net']);
    expect(reports.reduce((sum, { sent }) => sum + sent, 0)).toBe(2);
    expect(reports.reduce((sum, { skipped }) => sum + skipped, 0)).toBe(4);
  });

  test('that the server refuses for good is dropped, and the others are told', async () => {
    await using world = await estate();
    await using server = await mailServer({ 'RCPT TO:<alice@example.org>': '550 5.1.1 no such user' });
    const open = () =>
      openMailer({ server: new Secret(server.url), from: 'tokenctl@example.org', allowPlain: true });
    const report = await run(world, open());
    expect(report).toMatchObject({ sent: 1, undeliverable: ['alice'], failed: [], stopped: null });
    expect(server.mails.map(({ to }) => to)).toEqual(['bob@example.net']);
    expect(server.mails[0]?.lines).toContain('Auto-Submitted: auto-generated');
    expect(await planAt(world)).toMatchObject({ digests: [], toldBefore: 2 });
    const outcomes = (await world.entries()).map(({ data }) => data['result']).filter(Boolean);
    expect(outcomes).toEqual(['undeliverable', 'sent']);
  });

  test('is tried again later if the server takes nothing now, or refuses the sender', async () => {
    await using world = await estate();
    await using away = await mailServer({ RCPT: '450 4.2.0 try later' });
    const from = { from: 'tokenctl@example.org', allowPlain: true };
    const later = await run(world, openMailer({ server: new Secret(away.url), ...from }));
    expect(later).toMatchObject({ sent: 0, undeliverable: [], stopped: null });
    expect(later.failed).toHaveLength(2);
    await using strict = await mailServer({ MAIL: '550 5.7.1 who are you' });
    const refused = await run(world, openMailer({ server: new Secret(strict.url), ...from }));
    expect(refused).toMatchObject({ sent: 0, notTried: 1, undeliverable: [] });
    expect(refused.stopped).toMatchObject({ code: 'target_misbehaved' });
    expect(await run(world, new Postbox())).toMatchObject({ sent: 2 });
  });

  test('stops after three failures in a row', async () => {
    await using world = await estate();
    const names = ['u1', 'u2', 'u3', 'u4', 'u5'];
    names.forEach((username, index) => {
      const id = index + 10;
      const expires = new Date(stillClock.now().getTime() + DAY);
      world.target.alive.set(id, token({ id, user: { id, username }, expires }));
    });
    world.target.addresses = new Map(
      names.map((name) => [name, { email: `${name}@example.org`, organizations: [] }]),
    );
    const box = new Postbox();
    box.answer = () => new TokenctlError('target_unreachable', 'away');
    expect(await run(world, box)).toMatchObject({ sent: 0, notTried: 2, stopped: { message: 'away' } });
  });

  test('is not sent without an audit log, and no more once it fails', async () => {
    await using world = await estate();
    const box = new Postbox();
    const unlogged = run(world, box, RULES, { log: failingFrom(world.log, 1) });
    await expect(unlogged).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(box.taken).toEqual([]);
    // The opening, the claim of alice's mail, its outcome.
    const later = run(world, box, RULES, { log: failingFrom(world.log, 3) });
    await expect(later).rejects.toMatchObject({ code: 'outcome_unrecorded' });
    expect(box.taken).toHaveLength(1);
    // No one knows whether it was sent: the next run sends it again, with the same id.
    expect(await run(world, box)).toMatchObject({ sent: 2 });
    expect(new Set(box.taken.map(({ id }) => id)).size).toBe(2);
  });

  test('is bounded, keeps to domains, and leaves out what rules say', async () => {
    await using world = await estate();
    expect(await planAt(world, { ...RULES, atMost: 1 })).toMatchObject({ later: 1 });
    expect((await planAt(world, { ...RULES, atMost: 1 })).digests).toHaveLength(1);
    expect((await planAt(world, { ...RULES, domains: ['EXAMPLE.org'] })).unreachable).toContainEqual({
      owner: 'bob',
      why: 'other_domain',
      tokens: 1,
    });
    await world.revokeAll({ selector: { ids: [2] } });
    const optOut = [
      { user: 'b*', reason: 'service accounts' },
      { description: 'for alice', until: '2030-01-01', reason: 'they know' },
    ];
    expect(await planAt(world, { ...RULES, optOut })).toMatchObject({ digests: [], optedOut: 2 });
    const expired = [{ user: 'alice', until: '2020-01-01', reason: 'for a while' }];
    expect((await planAt(world, { ...RULES, optOut: expired })).digests).toHaveLength(2);
  });

  test('cannot be led astray by names, addresses and descriptions', async () => {
    await using world = await fixture();
    const expires = new Date(stillClock.now().getTime() + DAY);
    const addresses = [
      'a@example.org\r\nBcc: eve@example.org',
      'a@example.org, eve@example.org',
      'Eve <eve@example.org>',
      '"a b"@example.org',
      'a@localhost',
      `${'a'.repeat(65)}@example.org`,
      'a@example.org\u2028x',
    ];
    addresses.forEach((email, index) => {
      const id = index + 1;
      world.target.alive.set(id, token({ id, user: { id, username: `u${id}` }, expires }));
      world.target.addresses = new Map([...world.target.addresses, [`u${id}`, { email, organizations: [] }]]);
    });
    const plan = await planAt(world);
    expect(plan.digests).toEqual([]);
    expect(plan.unreachable.map(({ why }) => why)).toEqual(addresses.map(() => 'invalid_address'));

    const value = 'Zx9'.repeat(10);
    const username = 'al\r\nBcc: eve@example.org\u202e';
    world.target.alive.set(
      50,
      token({ id: 50, user: { id: 50, username }, expires, description: `a\nb ${value} {revoked}` }),
    );
    // A value at which the text is cut off.
    const long = `${'x '.repeat(90)}${value}`;
    world.target.alive.set(51, token({ id: 51, user: { id: 50, username }, expires, description: long }));
    world.target.addresses = new Map([[username, { email: 'al@example.org', organizations: [] }]]);
    await using server = await mailServer();
    const template = { subject: 'For {owner}', text: '{expiring}' };
    const rules = { ...RULES, template };
    const mailer = openMailer({
      server: new Secret(server.url),
      from: 'tokenctl@example.org',
      allowPlain: true,
    });
    expect(await run(world, mailer, rules)).toMatchObject({ sent: 1 });
    const lines = server.mails[0]?.lines ?? [];
    expect(lines.filter((line) => /^bcc:/i.test(line))).toEqual([]);
    expect(lines).toContain('Subject: For al Bcc: eve@example.org');
    // Quoted-printable (RFC 2045 §6.7) breaks lines with an equals sign.
    const text = lines.join('\n').replaceAll('=\n', '');
    expect(text).not.toContain(value.slice(0, 9));
    expect(text).toContain('"a b [hidden] {revoked}"');
  });

  test('uses the template of the first organization that the owner is a member of', async () => {
    await using world = await estate();
    const organizations = {
      Sales: { subject: 'S', text: 'S' },
      Engineering: { subject: '{count} token of {organization}', text: 'Hi {owner}' },
    };
    const rules = { ...RULES, organizations };
    const { digests } = await planAt(world, rules);
    expect(digests.map(({ organization }) => organization)).toEqual(['Engineering', null]);
    const [alice, bob] = digests.map((digest) => mailFor(digest, { ...world.common, rules }));
    expect(alice).toEqual({ subject: '1 token of Engineering', text: 'Hi alice' });
    expect(bob?.subject).toBe('Your tokens at https://controller.example.org');
  });
});

describe('the job', () => {
  test('sends nothing in a dry run, then each mail once, and fails if some were not sent', async () => {
    await using world = await estate();
    const box = new Postbox();
    const context = (dryRun: boolean) => ({
      ...world.common,
      ...{ dryRun, due: stillClock.now(), signal: new AbortController().signal },
      files: {} as never,
      services: { ...unusedServices, ownerNotices: () => RULES, mailer: () => box },
    });
    expect(await ownerNotices.run(context(true), {})).toMatchObject({
      message: 'Would email 2 owners; 1 cannot be reached',
    });
    expect([box.taken, await world.entries()]).toEqual([[], []]);
    box.answer = ({ to }) =>
      to.startsWith('bob') ? new TokenctlError('target_unreachable', 'away') : 'sent';
    await expect(ownerNotices.run(context(false), {})).rejects.toMatchObject(
      refused('partly_done', 'Emailed 1 of 2 owners'),
    );
    box.answer = () => 'sent';
    expect(await ownerNotices.run(context(false), {})).toMatchObject({ summary: { sent: 1 } });
    expect(await ownerNotices.run(context(false), {})).toMatchObject({
      message: 'No owner to email; 1 cannot be reached',
    });
    expect(box.taken).toHaveLength(2);
  });
});
