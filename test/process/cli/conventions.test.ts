import { globSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';

interface Flag {
  readonly default?: unknown;
  readonly summary?: string;
  readonly description?: string;
}

interface Command {
  readonly id: string;
  readonly summary?: string;
  readonly description?: string;
  readonly examples?: readonly string[];
  readonly enableJsonFlag?: boolean;
  readonly flags: Readonly<Record<string, Flag>>;
}

const root = new URL('../../../', import.meta.url);

function built(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, root), 'utf8'));
}

const manifest = built('oclif.manifest.json') as { readonly commands: Readonly<Record<string, Command>> };
const commands = Object.values(manifest.commands);

test('the manifest has every command', () => {
  const files = globSync('**/*.ts', { cwd: new URL('commands/', root) });
  expect(Object.keys(manifest.commands)).toEqual(
    files.map((file) => file.slice(0, -'.ts'.length).replaceAll('/', ':')).toSorted(),
  );
});

/** Commands that print no JSON, or lines of it. */
const withoutSchema = ['broker:serve', 'console', 'demo', 'jobs:start', 'service:start', 'signals:serve'];

test('every command that prints JSON has a schema of its own', () => {
  const names = [
    ...Object.keys(manifest.commands).filter((id) => !withoutSchema.includes(id)),
    'error',
    'several-contexts',
  ];
  expect(globSync('*.json', { cwd: new URL('docs/schemas/', root) }).toSorted()).toEqual(
    names.map((id) => `${id.replaceAll(':', '-')}.json`).toSorted(),
  );
  const ajv = new Ajv({ strict: true, allowUnionTypes: true });
  for (const id of names) {
    const schema = built(`docs/schemas/${id.replaceAll(':', '-')}.json`) as { readonly title: string };
    expect(ajv.validateSchema(schema), id).toBe(true);
    if (Object.hasOwn(manifest.commands, id)) {
      expect(schema.title).toBe(`tokenctl ${id.replaceAll(':', ' ')} --json`);
    }
  }
});

/** Commands that change a controller. */
const changing = [
  'tokens:revoke',
  'tokens:create',
  'tokens:cleanup',
  'sessions:expire',
  'settings:basic-auth',
  'settings:external-tokens',
  'settings:token-lifetime',
];

/** Commands that stand in for the controller's own, which do not ask. */
const dropIns = ['revoke_oauth2_tokens', 'create_oauth2_token', 'cleanup_tokens', 'expire_sessions'];

describe.each(commands.map((command) => [command.id.replaceAll(':', ' '), command] as const))(
  '%s',
  (_id, command) => {
    test('has a short imperative summary, a description and an example', () => {
      expect(command.summary).toMatch(/^[A-Z][^.]{1,59}$/);
      expect(command.description).toBeTruthy();
      expect(command.examples?.length).toBeGreaterThan(0);
    });

    test('takes --json', () => {
      expect(command.enableJsonFlag).toBe(true);
      expect(command.description).toContain('--json');
    });

    test('has flags that say what they are for, and no defaults of their own', () => {
      for (const [name, flag] of Object.entries(command.flags)) {
        expect(flag.summary ?? flag.description, `--${name}`).toBeTruthy();
        expect(flag.default, `--${name}`).toBeUndefined();
      }
    });
  },
);

test.each(dropIns)('%s never asks, and can be accounted for', (id) => {
  const flags = Object.keys(manifest.commands[id]?.flags ?? {});
  expect(flags).toEqual(expect.arrayContaining(['dry-run', 'reason', 'ticket']));
  expect(flags).not.toContain('yes');
});

test.each(changing)('%s can be rehearsed, agreed to beforehand, and accounted for', (id) => {
  expect(Object.keys(manifest.commands[id]?.flags ?? {})).toEqual(
    expect.arrayContaining(['dry-run', 'yes', 'reason', 'ticket']),
  );
});
