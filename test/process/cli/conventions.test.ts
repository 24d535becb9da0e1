import { readFileSync } from 'node:fs';
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

const manifest = JSON.parse(
  readFileSync(new URL('../../../oclif.manifest.json', import.meta.url), 'utf8'),
) as {
  readonly commands: Readonly<Record<string, Command>>;
};
const commands = Object.values(manifest.commands);

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
  expect(flags).toEqual(expect.arrayContaining(['reason', 'ticket']));
  expect(flags).not.toContain('yes');
});

test.each(changing)('%s can be rehearsed, agreed to beforehand, and accounted for', (id) => {
  expect(Object.keys(manifest.commands[id]?.flags ?? {})).toEqual(
    expect.arrayContaining(['dry-run', 'yes', 'reason', 'ticket']),
  );
});
