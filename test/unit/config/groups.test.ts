import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import { loadConfiguration, type SettingFlags } from '../../../src/config/configuration.ts';
import { contextOf, resolveContexts } from '../../../src/config/contexts.ts';
import {
  addContext,
  checkedContext,
  requireFreeName,
  requireGroupNames,
} from '../../../src/config/edit-contexts.ts';

const CONTEXTS = 'contexts: { east: { url: "https://e.example" }, west: { url: "https://w.example" } }\n';
const GROUPS = 'groups: { prod: [west, east], one: [east] }\n';

function load(text: string, flags: SettingFlags = {}) {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-config-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const config = join(home, 'tokenctl.yaml');
  writeFileSync(config, text);
  return { config, settings: () => loadConfiguration({ config, ...flags }, { HOME: home }, jobKinds) };
}

describe('resolving contexts', () => {
  test.each([
    ['east', null],
    ['east,west', ['east', 'west']],
    [' east , east ', ['east']],
    ['prod', ['west', 'east']],
    ['one', ['east']],
    ['one,prod', ['east', 'west']],
    ['prod , east', ['west', 'east']],
  ])('%j resolves to %j', (context, names) => {
    expect(resolveContexts(load(CONTEXTS + GROUPS, { context }).settings(), false)).toEqual(names);
  });

  test('all contexts, or the current one if any', () => {
    const configuration = load(CONTEXTS).settings();
    expect(resolveContexts(configuration, true)).toEqual(['east', 'west']);
    expect(resolveContexts(configuration, false)).toBeNull();
    expect(() => resolveContexts(load('').settings(), true)).toThrow('No contexts are configured');
  });

  test.each([
    ['east,nowhere', 'There is no context "nowhere"'],
    ['nowhere,prod', 'There is no context "nowhere"'],
    ['prod,', 'contains an empty name'],
    [',', 'contains an empty name'],
  ])('%j is refused', (context, problem) => {
    const configuration = load(CONTEXTS + GROUPS, { context }).settings();
    expect(() => resolveContexts(configuration, false)).toThrow(problem);
  });

  test('a command for one context refuses several', () => {
    for (const context of ['prod', 'east,west']) {
      expect(() => contextOf(load(CONTEXTS + GROUPS, { context }).settings())).toThrow(
        'one context at a time',
      );
    }
  });
});

describe('groups', () => {
  test.each([
    [
      'groups: { prod: [east, wst] }',
      'tokenctl.yaml:2: groups.prod.1: there is no context named "wst"; did you mean "west"?',
    ],
    ['groups: { east: [west] }', 'groups.east: is also the name of a context'],
    ['groups: { prod: [] }', 'must have at least one context'],
    ['groups: { "a b": [east] }', 'is not a valid group name'],
    ['groups: { environment: [east] }', 'is a reserved name'],
  ])('%s is refused', (groups, problem) => {
    expect(load(`${CONTEXTS}${groups}\n`).settings).toThrow(problem);
  });

  test('a context that is added is put into its groups, once, and the file keeps its comments', () => {
    const { config, settings } = load(`# ours\n${CONTEXTS}groups:\n  prod: # both\n    - west\n`);
    const north = checkedContext('north', { url: 'https://n.example' });
    addContext(config, north, ['prod', 'new']);
    addContext(config, north, ['prod']);
    expect(settings().groups).toEqual({ prod: ['west', 'north'], new: ['north'] });
    expect(readFileSync(config, 'utf8')).toMatch(/# ours[\s\S]*# both/);
  });

  test('names of contexts and groups are never the same', () => {
    const configuration = load(CONTEXTS + GROUPS).settings();
    expect(() => requireFreeName(configuration, 'prod', true)).toThrow('the name of a group');
    for (const groups of [['east'], ['north'], ['a b']]) {
      expect(() => requireGroupNames(configuration, { context: 'north', groups })).toThrow();
    }
  });
});
