import { serveSignals } from '../../../src/app/signals/serve.ts';
import { openQueue } from '../../../src/app/signals/signal-desk.ts';
import type { SignalStore } from '../../../src/operations/ports/signals.ts';
import { deathAt, dyingLog, KILL_POINTS } from '../../support/dying.ts';

/**
 * `signals serve` in a process of its own. Arguments: the configuration file, and the point and the number of the time at which
 * it dies: at an entry of the audit log, or before or after a change of the queue.
 */
const [config = '', point = '', time = '0'] = process.argv.slice(2);

type Pass = (when: 'before' | 'after') => void;

/** A queue that passes a point before and after each change. */
function dyingQueue(store: SignalStore, pass: Pass): SignalStore {
  const around = <Args extends unknown[], Result>(act: (...args: Args) => Promise<Result>) => {
    return async (...args: Args) => {
      pass('before');
      const result = await act(...args);
      pass('after');
      return result;
    };
  };
  return {
    record: around((signal) => store.record(signal)),
    claim: async (options) => {
      const claims = await store.claim(options);
      if (claims.length > 0) pass('after');
      return claims;
    },
    renew: (claims, lease) => store.renew(claims, lease),
    admit: around((users, limit) => store.admit(users, limit)),
    uncount: around((users, limit) => store.uncount(users, limit)),
    settle: around((claims, outcome, now) => store.settle(claims, outcome, now)),
    giveBack: (isDead) => store.giveBack(isDead),
    list: (selector) => store.list(selector),
    find: (prefix) => store.find(prefix),
    backlog: (most) => store.backlog(most),
    counts: () => store.counts(),
    release: (id, release, now) => store.release(id, release, now),
    dismiss: (id, release, now) => store.dismiss(id, release, now),
    untold: (limit) => store.untold(limit),
    markTold: (ids) => store.markTold(ids),
    forget: (before) => store.forget(before),
    expect: (verification, now) => store.expect(verification, now),
    expected: (transmitter) => store.expected(transmitter),
    close: () => store.close(),
  };
}

const inLog = KILL_POINTS.some((each) => each === point);
const inQueue = deathAt('after a change', Number(time));
const passes = inLog ? deathAt(point, Number(time)) : () => undefined;

await serveSignals({
  flags: { config },
  environment: process.env,
  version: '0.0.0',
  notify: (line) => process.stderr.write(`${line}\n`),
  openQueue: async (settings, environment) => {
    const store = await openQueue(settings, environment);
    return dyingQueue(store, (when) => {
      if (`queue ${when}` === point) inQueue('after a change');
    });
  },
  withLog: (log) => (inLog ? { ...log, ...dyingLog(log, passes) } : log),
});
