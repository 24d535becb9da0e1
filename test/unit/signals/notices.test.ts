import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { HeldNotices, RefusalNotices } from '../../../src/app/signals/notices.ts';
import type { Notice, Notifier } from '../../../src/operations/ports/notifier.ts';
import type { SignalStore } from '../../../src/operations/ports/signals.ts';
import { openSignals } from '../../../src/signals/signal-store.ts';

const log = pino({ enabled: false });

/** A recipient that keeps what it got; it refuses while `refuses` is set, and waits for `until`. */
function recipient() {
  const got: Notice[] = [];
  const state = { refuses: false, until: Promise.resolve() };
  const notifier: Notifier = {
    name: 'chat',
    async send(notice) {
      await state.until;
      if (state.refuses) throw new Error('not now');
      got.push(notice);
    },
    close: () => Promise.resolve(),
  };
  return { got, state, named: [{ name: 'chat', notifier }] };
}

async function queue(): Promise<SignalStore> {
  const folder = await temporaryFolder();
  const store = await openSignals(join(folder.path, 'signals.sqlite'));
  onTestFinished(async () => {
    await store.close();
    await folder[Symbol.asyncDispose]();
  });
  return store;
}

function hold(store: SignalStore, jti: string) {
  const now = new Date();
  return store.record({
    ...{
      issuer: 'https://idp.example.com',
      jti,
      transmitter: 'idp',
      route: 'push',
      issued: now,
      received: now,
    },
    ...{
      kinds: ['session-revoked'],
      kind: 'session-revoked',
      action: 'revoke',
      state: 'held',
      reason: 'doubt',
    },
    subject: { format: 'email', email: 'alice@example.org' },
  });
}

test('held events are told about once, together, and again only when new ones came', async () => {
  const store = await queue();
  const { got, named } = recipient();
  const notices = new HeldNotices({ store, notifiers: named, log, pauseMs: 0 });
  for (const jti of ['a', 'b', 'c']) await hold(store, jti);
  for (let time = 0; time < 2; time += 1) {
    notices.send();
    await notices.sent();
  }
  expect(got).toHaveLength(1);
  expect(got[0]?.data).toMatchObject({ subject: 'tokenctl: 3 security events wait for a decision' });
  await hold(store, 'd');
  notices.send();
  await notices.sent();
  expect(got.map(({ data }) => data['subject'])[1]).toContain('1 security event waits');
});

test('a recipient who does not answer delays no one, and a refused notice is sent again', async () => {
  const store = await queue();
  const { got, state, named } = recipient();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.until = promise;
  state.refuses = true;
  const notices = new HeldNotices({ store, notifiers: named, log, pauseMs: 0 });
  await hold(store, 'a');
  notices.send();
  expect(got).toHaveLength(0);
  resolve();
  await notices.sent();
  expect(await store.untold(10)).toHaveLength(1);
  state.refuses = false;
  notices.send();
  await notices.sent();
  expect(got).toHaveLength(1);
  expect(await store.untold(10)).toEqual([]);
});

test('of many held events, a person hears once in a while', async () => {
  const store = await queue();
  const { got, named } = recipient();
  const notices = new HeldNotices({ store, notifiers: named, log });
  for (let index = 0; index < 30; index += 1) {
    await hold(store, `many-${index}`);
    notices.send();
    await notices.sent();
  }
  expect(got).toHaveLength(1);
});

test('refused events are told about once an hour for each transmitter', async () => {
  const { got, named } = recipient();
  const refusals = new RefusalNotices(named, log);
  for (let time = 0; time < 5; time += 1) refusals.tell('idp', 'The claim aud is not acceptable');
  refusals.tell('other', 'The claim iss is not acceptable');
  await refusals.sent();
  expect(got.map(({ data }) => data['subject'])).toEqual([
    'tokenctl: security events from idp are rejected',
    'tokenctl: security events from other are rejected',
  ]);
});
