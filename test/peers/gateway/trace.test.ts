import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { homeOf } from '../home.ts';
import { describePeer } from '../peer.ts';

describePeer('gateway', 'tracing with a token of the scope write', (peer) => {
  test('ends after a bounded number of requests', async () => {
    // Each request with such a token adds an entry to the activity stream of the gateway.
    const home = homeOf(peer());
    const { body } = await home.json<{ id: number; user: { username: string } }[]>('tokens', 'list');
    const id = body.findLast(({ user }) => user.username === 'admin')?.id;
    const requests = () => readFileSync(join(peer().folder, 'log', 'access.log'), 'utf8').split('\n').length;
    const before = requests();
    const traced = await home.run('tokens', 'trace', String(id));
    expect(traced).toMatchObject({ code: 0 });
    expect(requests() - before).toBeLessThan(30);
  });
});
