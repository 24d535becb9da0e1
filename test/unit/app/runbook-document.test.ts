import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runbooks } from '../../../src/cli/incident/incident-flags.ts';
import {
  filledCommand,
  filledMarkdown,
  filledText,
  NO_CASE,
  type RunbookCase,
  runbookDocument,
} from '../../../src/cli/incident/runbook-document.ts';
import { documentText } from '../../../src/reports/document.ts';

const CASE: RunbookCase = {
  ...{ incident: 'inc-99887766', user: "o'brien", application: null, rest: 'east', database: null },
  ...{ reason: 'token stolen in a train', ticket: 'SEC-99', since: null, cleaning: null },
};

function textOf(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../../docs/runbooks', `${name}.md`), 'utf8');
}

describe('a runbook for a case', () => {
  it('has what is known in its commands, as words of a shell, and placeholders for the rest', () => {
    const command =
      'tokenctl incident lockdown --context production --user alice --deactivate --reason "laptop stolen" --ticket SEC-7';
    expect(filledCommand(command, CASE)).toBe(
      "tokenctl incident lockdown --context east --user 'o'\\''brien' --deactivate --reason 'token stolen in a train' --ticket SEC-99",
    );
    expect(filledCommand('tokenctl sessions list --context production-db', CASE)).toBe(
      'tokenctl sessions list --context <database-context>',
    );
    expect(filledCommand('tokenctl users offboard bob --since 7d', NO_CASE)).toBe(
      'tokenctl users offboard <user> --since 7d',
    );
    expect(filledText('All access of alice ends: `tokens list --user alice`.', CASE)).toBe(
      "All access of o'brien ends: `tokens list --user 'o'\\''brien'`.",
    );
  });

  it('uses the only context of a controller in the commands that both kinds run', () => {
    const onlyRest = { ...CASE, user: 'carol' };
    const onlyDatabase = { ...onlyRest, rest: null, database: 'east-db' };
    const investigate = 'tokenctl incident investigate --context production-db --user alice';
    const list = 'tokenctl tokens list --context production --user alice';
    expect(filledCommand(investigate, onlyRest)).toContain('--context east --user carol');
    expect(filledCommand(list, onlyDatabase)).toContain('--context east-db --user carol');
    expect(filledCommand(`${investigate} --deactivate`, onlyRest)).toContain('<database-context>');
    expect(filledCommand(`${list} --reset-password`, onlyDatabase)).toContain('<rest-context>');
    expect(filledCommand('tokenctl refresh-tokens list --context production-db', onlyRest)).toContain('<d');
    expect(filledCommand(investigate, { ...onlyRest, isRestDown: true })).toContain('<database-context>');
    expect(filledText('`production-db` is the database', onlyRest)).toContain('<database-context>');
  });

  it('fills in commands behind a pipe, and leaves no id, item or directory of the example', () => {
    const leaked = filledMarkdown(textOf('leaked-repository'), { ...CASE, database: 'east-db' });
    expect(leaked).toContain('| tokenctl tokens find --context east-db --leaked - --revoke');
    const leaving = filledMarkdown(textOf('leaving-employee'), CASE);
    expect(leaving).toContain('tokenctl signals release <event> --user ');
    expect(leaving).toContain('tokenctl users offboard --gone <directory> ');
    const known = filledMarkdown(textOf('leaving-employee'), { ...CASE, directory: 'people' });
    expect(known).toContain('tokenctl users offboard --gone people ');
    expect(filledMarkdown(textOf('stolen-token'), CASE)).toContain(
      'tokenctl incident mark inc-99887766 --context east --item <item> --reason <reason>\n',
    );
    expect(filledMarkdown(textOf('stolen-token'), CASE)).toContain(
      'tokenctl incident lift inc-99887766 --context east --reason <reason> --ticket SEC-99\n',
    );
  });

  it.each(runbooks)('%s ends with a newline as it is written', (name) => {
    expect(filledMarkdown(textOf(name), CASE)).toMatch(/\S\n$/);
  });

  it.each(runbooks)('%s names no one, and no user that a command could run for, without a case', (name) => {
    const shown = documentText(runbookDocument(textOf(name), NO_CASE));
    expect(shown).not.toMatch(/\b(?:alice|bob)\b/);
  });

  it.each(runbooks)(
    '%s names nothing of its example once the case is known, and no Markdown is left',
    (name) => {
      const shown = documentText(
        runbookDocument(textOf(name), { ...CASE, user: 'carol', application: 'app' }),
      );
      const commands = shown.split('\n').filter((line) => line.startsWith('tokenctl '));
      expect(commands.length).toBeGreaterThan(0);
      for (const example of ['alice', 'bob', 'production', 'inc-1a2b3c4d', '0b9c8f1e', 'SEC-7', 'chatops']) {
        expect(commands.filter((command) => command.split(/[\s"]/).includes(example))).toEqual([]);
      }
      expect(shown).not.toMatch(/^#|\]\(|\*\*/m);
    },
  );
});
