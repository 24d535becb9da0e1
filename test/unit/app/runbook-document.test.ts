import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runbooks } from '../../../src/cli/incident/incident-flags.ts';
import {
  filledCommand,
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
    expect(filledCommand('tokenctl incident status --context production-db', CASE)).toBe(
      'tokenctl incident status --context <database-context>',
    );
    expect(filledCommand('tokenctl users offboard bob --since 7d', NO_CASE)).toBe(
      'tokenctl users offboard <user> --since 7d',
    );
    expect(filledText('All access of alice ends: `tokens list --user alice`.', CASE)).toBe(
      "All access of o'brien ends: `tokens list --user 'o'\\''brien'`.",
    );
  });

  it.each(runbooks)('%s names nobody, and no user that a command could run for, without a case', (name) => {
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
