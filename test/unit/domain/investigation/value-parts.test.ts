import { describe, expect, it } from 'vitest';
import { isSameContent, leftOf, leftOver } from '../../../../src/domain/investigation/value-parts.ts';

/** What is left of one change. */
function left(field: string, before: unknown, after: unknown, current: unknown) {
  return leftOf(field, [{ entry: 1, last: 1, before, after }], current);
}

function edit(entry: number, before: string, after: string) {
  return { entry, last: entry, before, after };
}

const HARMLESS = 'a: 1\nb: 2\n';
const HOSTILE = 'a: 1\nb: 2\nansible_connection: local\n';

describe('a value that others changed since', () => {
  it.each([
    ['a variable', 'variables', HARMLESS, HOSTILE, 'a: 5\nb: 2\nansible_connection: local\n'],
    [
      'a variable, written as JSON since',
      'variables',
      HARMLESS,
      HOSTILE,
      '{"a": 5, "ansible_connection": "local"}',
    ],
    [
      'a nested variable',
      'extra_vars',
      '{"x": {"y": 1}}',
      '{"x": {"y": 1, "z": 2}}',
      '{"x": {"y": 3, "z": 2}}',
    ],
    ['a changed variable', 'variables', 'a: 1\nb: 1', 'a: 9\nb: 1', 'a: 9\nb: 2'],
    ['a deleted variable', 'variables', 'check: true\nb: 1', 'b: 1', 'b: 2'],
    ['a redirect URI', 'redirect_uris', 'https://a', 'https://a https://evil', 'https://evil https://b'],
    [
      'a member of a map',
      'SOCIAL_AUTH_SAML_ORGANIZATION_MAP',
      { A: {} },
      { A: {}, B: { admins: true } },
      { B: { admins: true }, C: {} },
    ],
    ['a member of a list in a map', 'X', { A: ['x'] }, { A: ['x', 'evil'] }, { A: ['evil', 'y'] }],
    ['a line of a text', 'playbook_text', 'one\ntwo', 'one\ntwo\nevil', 'three\nevil'],
    ['a host pattern', 'limit', 'web', 'web:db', 'db:cache'],
    [
      'a text that YAML 1.1 would read as false',
      'variables',
      'a: no\nb: 1',
      'a: "no"\nb: 1',
      'a: "no"\nb: 2',
    ],
    ['what a merged map holds', 'variables', 'a: 1', 'x: &x {y: 1}\na:\n  <<: *x', '{"a": {"y": 1}}'],
  ])('has %s of the actor', (_what, field, before, after, current) => {
    expect(left(field, before, after, current)).toBe('some');
  });

  it.each([
    ['a plain value', 'playbook', 'site.yml', 'evil.yml', 'other.yml'],
    ['a variable', 'variables', HARMLESS, HOSTILE, 'a: 5\nb: 2\n'],
    ['a variable with a value of its own', 'variables', 'a: 1\nb: 1', 'a: 9\nb: 1', 'a: 3\nb: 1'],
    ['a redirect URI', 'redirect_uris', 'https://a', 'https://evil', 'https://b'],
    ['a project', 'project', 'Demo-6', 'Evil-7', 8],
    ['a timestamp in YAML', 'variables', 'a: 2001-01-01', 'a: 2002-02-02', 'a: 2003-03-03'],
    ['everything', 'variables', HARMLESS, HOSTILE, ''],
  ])('has nothing left of %s', (_what, field, before, after, current) => {
    expect(left(field, before, after, current)).toBe('none');
  });

  it('does not say whether lines that the actor took out are missed', () => {
    expect(left('text', 'one\ntwo', 'one', 'one\nthree')).toBe('undecided');
    expect(left('text', 'one\ntwo\nthree', 'one\ntwo', 'four\nfive')).toBe('none');
  });

  it('misses a host that the actor no longer left out', () => {
    expect(left('limit', 'web:!prod', 'web', 'web:db')).toBe('undecided');
    expect(left('limit', 'web:!prod', 'web', 'db')).toBe('none');
    expect(left('job_tags', 'a,b', 'a', 'a,c')).toBe('none');
  });

  it('is what the actor decided over the changes of others', () => {
    const edits = [edit(1, 'a: 1', 'a: 1\nevil: 1'), edit(3, 'a: 1\nevil: 1\ngood: 1', 'a: 1')];
    const between = [edit(2, 'a: 1\nevil: 1', 'a: 1\nevil: 1\ngood: 1')];
    expect(leftOver('variables', { edits, between }, 'a: 1')).toBe('some');
    expect(leftOver('variables', { edits, between }, 'a: 1\ngood: 1')).toBe('none');
    expect(leftOver('variables', { edits, between: [] }, 'a: 1')).toBe('none');
  });

  it('is compared with each change of the actor, not with the values between them', () => {
    const edits = [
      { entry: 1, last: 1, before: 'a: 1', after: 'a: 1\nevil: 1' },
      // Between them someone else added `good`, and the actor took its own line out again.
      { entry: 3, last: 3, before: 'a: 1\nevil: 1\ngood: 1', after: 'a: 1\ngood: 1' },
    ];
    expect(leftOf('variables', edits, 'a: 1\ngood: 1')).toBe('none');
    expect(leftOf('variables', edits.slice(0, 1), 'a: 1\nevil: 1\ngood: 1')).toBe('some');
  });

  it('is the same content in JSON and in YAML, with comments or without, and not in another order of a list', () => {
    expect(isSameContent('# kept\nregion: east\n', '{"region":"east"}')).toBe(true);
    expect(isSameContent('{"a": 1, "b": [1, 2]}', { b: [1, 2], a: 1 })).toBe(true);
    expect(isSameContent('run: [one, two]', '{"run": ["two", "one"]}')).toBe(false);
    expect(isSameContent('a: no', 'a: "no"')).toBe(false);
    expect(isSameContent('site.yml', 'site.yml ')).toBe(false);
  });

  it('is not expanded where aliases of YAML stand for more than it holds', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [name, last] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih'].map((pair) => [...pair]))
      bomb.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${last}`).join(', ')}]`);
    expect(left('variables', '', bomb.join('\n'), bomb.slice(1).join('\n'))).toBe('some');
  });

  it('is read as lines where YAML is long or JSON is deep', () => {
    const keys = Array.from({ length: 3_000 }, (_, n) => [`key${n}`, n] as const);
    const json = JSON.stringify(Object.fromEntries(keys));
    const yaml = (some: typeof keys) => some.map(([name, value]) => `${name}: ${value}`).join('\n');
    expect(isSameContent(json, Object.fromEntries(keys))).toBe(true);
    expect(isSameContent(yaml(keys), json)).toBe(false);
    expect(isSameContent(yaml(keys.slice(0, 1_000)), Object.fromEntries(keys.slice(0, 1_000)))).toBe(true);
    expect(left('variables', '', 'evil: 1', `${yaml(keys)}\nevil: 1`)).toBe('some');
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);
    expect(isSameContent(deep, deep)).toBe(false);
    expect(left('variables', '', deep, deep)).toBe('some');
  });
});
