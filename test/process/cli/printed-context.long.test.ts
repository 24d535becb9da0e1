import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { databaseEstate } from './database-estate.ts';
import { estate } from './estate.ts';
import type { Run } from './program.ts';

const inDatabase = databaseEstate();
const overRest = estate({ users: 6, tokens: 24 });

/** Commands that work in a context, up to the end of their quotes or of the line. */
const COMMANDS =
  /tokenctl (?:tokens|incident (?!runbook)|users|applications|settings|sessions|refresh-tokens|context check)[^`"\n]*/g;

/** What a run prints, as text or with --json. */
function commandsIn({ stdout, stderr }: Run): readonly string[] {
  return (stdout + stderr).replaceAll('\\n', '\n').match(COMMANDS) ?? [];
}

/** What is locked down, revoked and investigated. */
interface Subject {
  readonly name: string;
  readonly token: number;
  readonly application: string;
}

/** Every kind of result that prints commands: a lockdown and its ends, revocations, offboardings, investigations, lists, refusals. */
function invocations({ name, token, application }: Subject, file: string) {
  return [
    ['incident', 'lockdown', '--user', name, '--dry-run'],
    ['incident', 'lockdown', '--user', name, '--deactivate', '--dry-run'],
    ['incident', 'lockdown', '--application', application, '--dry-run'],
    ['incident', 'lockdown', '--all', '--dry-run'],
    ['incident', 'lockdown', '--all', '--dry-run', '--json'],
    ['incident', 'lockdown', '--user', name, '--for', '1h', '--yes'],
    ['incident', 'status'],
    ['incident', 'status', '--json'],
    ['incident', 'status', '--check'],
    ['incident', 'extend', '--for', '2h', '--yes'],
    ['incident', 'timeline', '--user', name],
    ['incident', 'investigate', '--user', name],
    ['incident', 'report'],
    ['incident', 'lift', '--due', '--yes'],
    ['incident', 'lift', '--yes'],
    ['incident', 'lift', 'inc-00000000', '--yes'],
    ['tokens', 'revoke', '--user', name, '--dry-run'],
    ['tokens', 'revoke', '--application', application, '--dry-run'],
    ['tokens', 'revoke', '--scope', 'write', '--dry-run'],
    ['tokens', 'revoke', '--all', '--dry-run'],
    ['tokens', 'revoke', '--id', String(token), '--dry-run'],
    ['tokens', 'revoke', '--id', '999999', '--yes'],
    ['tokens', 'revoke', '--user', 'nobody', '--yes'],
    ['tokens', 'find', '--leaked', file],
    ['tokens', 'find', '--leaked', file, '--revoke', '--dry-run'],
    ['tokens', 'audit'],
    ['tokens', 'cleanup', '--dry-run'],
    ['tokens', 'show', '999999'],
    ['tokens', 'trace', '999999'],
    ['tokens', 'trace', String(token)],
    ['tokens', 'create', '--user', name, '--scope', 'read', '--expires', '1d', '--output', file, '--yes'],
    ['sessions', 'list'],
    ['sessions', 'expire', '--user', name, '--dry-run'],
    ['settings', 'show'],
    ['settings', 'basic-auth', 'off', '--dry-run'],
    ['applications', 'show', application],
    ['applications', 'delete', application, '--dry-run'],
    ['applications', 'rotate-secret', application, '--dry-run'],
    ['refresh-tokens', 'list'],
    ['users', 'show', name],
    ['users', 'offboard', name, '--dry-run'],
    ['users', 'offboard', name, '--dry-run', '--json'],
    ['users', 'offboard', name, '--yes'],
    ['context', 'check'],
  ];
}

describe.each(['REST', 'database'])('every command that is printed names its context: %s', (kind) => {
  test('in text, and with --json', async () => {
    const { run, folder } = kind === 'REST' ? overRest.home() : inDatabase.home();
    const context = kind === 'REST' ? 'test' : 'db';
    if (kind === 'database') await inDatabase.addUser();
    const listed = JSON.parse((await run(['tokens', 'list', '--json'])).stdout);
    const issued = listed.find((each: { application: unknown }) => each.application !== null);
    const subject = { name: issued.user.username, token: issued.id, application: issued.application.name };
    const file = join(folder, 'leaked.txt');
    writeFileSync(file, 'a9f3k2l8s0d7f6g5h4j3k2l1z0x9c8\n');
    const printed: string[] = [];
    const without: string[] = [];
    for (const args of invocations(subject, file)) {
      for (const command of commandsIn(await run(args))) {
        printed.push(command);
        if (!/ --(?:context|all-contexts)\b/.test(command)) without.push(`${args.join(' ')}: ${command}`);
      }
    }
    expect(without).toEqual([]);
    expect(printed.filter((command) => command.includes(`--context ${context}`)).length).toBeGreaterThan(10);
  });
});
