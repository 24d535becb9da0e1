import {
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { addContext } from '../../../src/config/edit-contexts.ts';
import { giveToOwner, machineEnvironment } from '../../../src/config/machine-place.ts';
import type { Environment } from '../../../src/config/paths.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokenctl-machine-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

describe('the environment of a command on a machine with the package', () => {
  const machine = () => ({
    configuration: join(folder, 'etc/tokenctl/tokenctl.yaml'),
    states: join(folder, 'var/lib'),
  });
  const found = (
    environment: Environment,
    { isRoot = true, config }: { isRoot?: boolean; config?: string } = {},
  ) =>
    machineEnvironment(
      { HOME: join(folder, 'root'), ...environment },
      { config, isRoot, machine: machine() },
    );
  const places = ({ XDG_CONFIG_HOME, XDG_STATE_HOME }: Environment) => [XDG_CONFIG_HOME, XDG_STATE_HOME];
  const service = () => [join(folder, 'etc'), join(folder, 'var/lib')];
  const none = [undefined, undefined];

  test('is that of the service for root, with a configuration or before there is one', () => {
    expect(places(found({}))).toEqual(none);
    mkdirSync(join(folder, 'etc/tokenctl'), { recursive: true });
    expect(places(found({}))).toEqual(service());
    expect(places(found({}, { isRoot: false }))).toEqual(none);
  });

  test('leaves root what is its own', () => {
    mkdirSync(join(folder, 'etc/tokenctl'), { recursive: true });
    expect(places(found({ XDG_CONFIG_HOME: '/x' }))).toEqual(['/x', undefined]);
    expect(places(found({ TOKENCTL_CONFIG: '/x/tokenctl.yaml' }))).toEqual(none);
    expect(places(found({}, { config: '/x/tokenctl.yaml' }))).toEqual(none);
    expect(places(found({ XDG_STATE_HOME: '/state' }))).toEqual([join(folder, 'etc'), '/state']);
    mkdirSync(join(folder, 'root/.config/tokenctl'), { recursive: true });
    writeFileSync(join(folder, 'root/.config/tokenctl/tokenctl.yaml'), '');
    expect(places(found({}))).toEqual(none);
  });

  test("has the machine's state with the machine's configuration, whoever names it and how", () => {
    const config = machine().configuration;
    expect(places(found({}, { config, isRoot: false }))).toEqual([undefined, join(folder, 'var/lib')]);
    expect(places(found({ TOKENCTL_CONFIG: config }))).toEqual([undefined, join(folder, 'var/lib')]);
    expect(places(found({ XDG_STATE_HOME: '/state' }, { config }))).toEqual([undefined, '/state']);
  });
});

test('a configuration that others can read stays so when a context is added, and a new one is private', () => {
  const mode = (path: string) => statSync(path).mode & 0o777;
  const context = { name: 'lab', url: 'https://lab.example.org', verifyTls: true, insecure: false };
  const [fresh, shared] = [join(folder, 'fresh.yaml'), join(folder, 'shared.yaml')];
  writeFileSync(shared, '{}', { mode: 0o644 });
  for (const file of [fresh, shared]) addContext(file, context, []);
  expect([mode(fresh), mode(shared)]).toEqual([0o600, 0o644]);
});

describe.skipIf(process.getuid?.() !== 0)('what root made in the folder of a service', () => {
  const SERVICE = 61234;
  const owner = (...path: string[]) => statSync(join(folder, ...path)).uid;

  test('becomes its, but for links out of the folder', () => {
    const state = join(folder, 'state');
    mkdirSync(join(state, 'incidents'), { recursive: true });
    for (const file of ['outside', 'linked', 'state/audit.jsonl', 'state/incidents/one']) {
      writeFileSync(join(folder, file), '');
    }
    symlinkSync(join(folder, 'outside'), join(state, 'link'));
    linkSync(join(folder, 'linked'), join(state, 'hard'));
    giveToOwner(state);
    expect(owner('state/audit.jsonl')).toBe(0);
    chownSync(state, SERVICE, SERVICE);
    giveToOwner(state);
    expect(
      ['state/audit.jsonl', 'state/incidents', 'state/incidents/one'].map((path) => owner(path)),
    ).toEqual([SERVICE, SERVICE, SERVICE]);
    expect([owner('outside'), owner('linked')]).toEqual([0, 0]);
  });
});
