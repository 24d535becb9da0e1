import { globSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';

const ROOT = new URL('../../../', import.meta.url);

/** Words that say what became of access. A sentence that has one is a claim, unless it is listed below. */
const CLAIM =
  /\b(verified|closed|ended|revoked|lifted|deleted|deactivated|locked down|in effect|nothing|none|no (?:findings|lockdown|incidents?|tokens|longer|reason found)|gone|already|fixed(?=\.$| since| ones)|(?:is|was|currently) off|still (?:add|make|create)|(?:rejected|refused|accepted) after|skipped these items|^skipped: … in the file|new since the plan|after the plan was made|and skipped|ha(?:s|ve) expired|no actions|the period were not read|end time is not known|removed, undone or|fixed: neither|fixed findings|creates no entries|marked, but not found)\b/i;

/** Sentences with such a word that claim nothing about access at a target: plans, refusals, headings, and the tool itself. */
const NO_CLAIMS: readonly RegExp[] = [
  /Nothing was (?:changed|revoked)\.?\s*$/i,
  // Names of members.
  /^[a-z][A-Za-z]*(?: [a-z][A-Za-z]*){6,}$/,
  /^Would |^Keep |^Check that |^Testing |^Verifying |^A revoked token$|^revoked refresh tokens$|^a deleted user$/,
  /the audit log|^Closed …\.$|^Entries … to … are no longer|^Nothing to export|^Nothing to rotate/,
  /cannot be revoked|^Not deactivated: |could not be|was not revoked: |was already lifted$/,
  /^Closed incidents$|^The start of the incident: |^: changes\s+nothing\.$|^Revoked tokens are not restored\. The plan|^none is$/,
  /^(?:\.\s+|It is older than the last cleanup, so it is not known what remains\. )?An investigation changes nothing\.(?:$| It shows what an account did,)/,
  /^A case ends when its lockdown is lifted|^The audit log has no such incident/,
  /^No incident (?:is due|… at (?:this target|…$)|selected)|^List them with |^The sweep |^The policy would revoke/,
  /certificate (?:is )?(?:not )?verified|^delete expired and revoked|but several are audited$|prints nothing/,
  /<!doctype html>|<h2>Findings|name any more: |Sessions are ended only in the database/,
  /already exists(?: and is not overwritten|\.)?$|^Add it first|except those already notified/,
  /^(?:default-src|base-uri|form-action|frame-ancestors) 'none'$|^<p>This address was already used|^Duration in hours|Nothing (?:is|has been) changed(?: yet| before that)?\.$/,
  /can be neither listed nor \w+$|^Save the (?:lockdown|plan)(?: of the revocation)? to a new file|^Wait this long/,
  // Flags, and commands to copy.
  /--(?:no-)?keep-deactivated/,
  // A fault of the program.
  /^A run that was not opened is closed$/,
  /^Select tokens of|^deactivated users…$|stored credential|^The context was removed|^To see a deleted token|Ctrl-C leaves it valid/,
];

interface Node {
  readonly type?: string;
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly cooked: string } }[];
  readonly tag?: { readonly name?: string };
  readonly quasi?: Node;
  readonly expressions?: readonly Node[];
}

const SKIPPED = new Set([
  'ImportDeclaration',
  'ImportExpression',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
]);

/** The text of a string or template, `…` in place of each value; undefined for any other node. */
function textOf({ type, value, quasis, tag, quasi }: Node): string | undefined {
  if (tag?.name === 'would' && quasi !== undefined) return `Would ${textOf(quasi)}`;
  if (type === 'JSXText') return String(value);
  if (type === 'Literal') return typeof value === 'string' ? value : undefined;
  return type === 'TemplateLiteral' ? quasis?.map((each) => each.value.cooked).join('…') : undefined;
}

function textsIn(source: string, lang: 'ts' | 'tsx'): string[] {
  const texts: string[] = [];
  const visit = (node: Node): void => {
    if (SKIPPED.has(node.type ?? '')) return;
    const text = textOf(node);
    if (text !== undefined) texts.push(text);
    // The words of a plan are said after `Would`.
    const inner = node.tag?.name === 'would' ? (node.quasi?.expressions ?? []) : Object.values(node);
    for (const each of inner) if (typeof each === 'object' && each !== null) visit(each);
  };
  visit(parseAst(source, { lang }) as Node);
  return texts;
}

const SOURCES = [
  '{src/cli,src/console,src/operations,src/reports,jobs}/**/*.ts',
  'src/domain/access.ts',
  'src/web/console/**/*.tsx',
];

function claimsInSources(): Map<string, string> {
  const claims = new Map<string, string>();
  for (const file of globSync(SOURCES, { cwd: ROOT }).sort()) {
    const lang = file.endsWith('x') ? 'tsx' : 'ts';
    for (const text of textsIn(readFileSync(new URL(file, ROOT), 'utf8'), lang)) {
      const sentence = text.trim();
      if (!CLAIM.test(sentence) || !sentence.includes(' ')) continue;
      if (isOnPage(sentence) || !NO_CLAIMS.some((each) => each.test(sentence))) claims.set(sentence, file);
    }
  }
  return claims;
}

const PAGE = new Set(
  [...readFileSync(new URL('docs/claims.md', ROOT), 'utf8').matchAll(/^\| (`+)\s?(.*?)\s?\1 \| \S/gm)].map(
    ([, , sentence = '']) => sentence,
  ),
);

function isOnPage(sentence: string): boolean {
  return PAGE.has(sentence);
}

test('every claim that can be printed is on the page of claims, with the check behind it', () => {
  const missing = [...claimsInSources()].filter(([sentence]) => !isOnPage(sentence));
  expect(missing.map(([sentence, file]) => `${file}: ${sentence}`)).toEqual([]);
});

test('the page of claims has no sentence that cannot be printed', () => {
  const claims = claimsInSources();
  expect([...PAGE].filter((sentence) => !claims.has(sentence))).toEqual([]);
});

test('the page says of every claim whether it is about a moment, a state or the past', () => {
  const page = readFileSync(new URL('docs/claims.md', ROOT), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, name]) => name).join('|');
  const about = new RegExp(
    String.raw`\| (?:A moment|A state|The past|The same|Not checked|As for each access path|As in (?:${sections})\b|Not a claim)[^|]* \|$`,
  );
  expect(rows.filter((row) => !about.test(row))).toEqual([]);
});

test('a row that refers to another sentence names one of the page', () => {
  const page = readFileSync(new URL('docs/claims.md', ROOT), 'utf8');
  const named = [...page.matchAll(/\bas for `(?:… )?([^`]+)`/gi)].map(([, sentence = '']) => sentence);
  expect(named).not.toHaveLength(0);
  expect(named.filter((sentence) => ![...PAGE].some((each) => each.endsWith(sentence)))).toEqual([]);
});
