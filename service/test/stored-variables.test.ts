import { describe, expect, it } from 'vitest';
import { renderInventory } from '../src/playbooks/job-variables.ts';
import { StoredVariables } from '../src/playbooks/variables-pace.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A host's variables with about 1,000 characters. */
const KILOBYTE = Array.from({ length: 100 }, (_, n) => `key${n}: 1`).join('\n');
const TOO_LONG = 'The variables of this inventory are too long to read in one request';

/** What reads the variables of all hosts, and how it refuses them. */
const READERS = {
  'the script of an inventory': {
    async read(texts: readonly string[]) {
      const stored = new StoredVariables();
      let last = {};
      for (const text of texts) last = await stored.read(text);
      return JSON.stringify(last);
    },
    refusal: { status: 400, body: { detail: `${TOO_LONG}: request one host with ?host=NAME.` } },
  },
  'a job': {
    read: (texts: readonly string[]) =>
      renderInventory(
        { variables: '', hosts: texts.map((variables, n) => ({ name: `host${n}`, variables })), groups: [] },
        { localConnection: false, network: false, asService: false },
      ),
    refusal: { message: `${TOO_LONG}.` },
  },
};

describe.each(Object.entries(READERS))('the variables of many hosts for %s', (_name, { read, refusal }) => {
  it('let other requests in between', async () => {
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns += 1) await nextTurn();
    })();
    expect(await read(Array.from({ length: 50 }, () => KILOBYTE))).toContain('"key99":1');
    isDone = true;
    await others;
    expect(turns).toBeGreaterThan(25);
  });

  it('are refused where they are too long together, however many there are', async () => {
    const half = JSON.stringify({ key99: 1, text: 'x'.repeat(2_499_970) });
    expect(await read([half, half])).toContain('"key99":1');
    await expect(read([half, half, KILOBYTE])).rejects.toMatchObject(refusal);
  });
});
