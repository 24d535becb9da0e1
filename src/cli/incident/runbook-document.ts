import { shellWord } from '../../domain/remedies.ts';
import { code, type Document, lines, list, type Part } from '../../reports/document.ts';

/** The known facts of the case that a runbook is used for; null if unknown. */
export interface RunbookCase {
  readonly incident: string | null;
  readonly user: string | null;
  readonly application: string | null;
  /** The contexts of the controller's REST API and of its database. */
  readonly rest: string | null;
  readonly database: string | null;
  readonly reason: string | null;
  readonly ticket: string | null;
  /** When the theft began (RFC 3339). */
  readonly since: string | null;
  /** The run of the last cleaning, in the audit log. */
  readonly cleaning: string | null;
  /** The only configured directory. */
  readonly directory?: string | null;
  /** Whether the REST API is down: it then does not replace a missing database context. */
  readonly isRestDown?: boolean;
}

export const NO_CASE: RunbookCase = {
  incident: null,
  user: null,
  application: null,
  rest: null,
  database: null,
  reason: null,
  ticket: null,
  since: null,
  cleaning: null,
};

/** The names that the runbooks use for people and things. */
const USERS = /\b(?:alice|bob)\b/g;
const APPLICATION = /\bchatops\b/g;

/** A placeholder: shells parse it as a redirection without a file, so that such a command does not run. */
function placeholder(name: string): string {
  return `<${name}>`;
}

function filled(value: string | null, name: string): string {
  return value === null ? placeholder(name) : shellWord(value);
}

/** A command of a runbook with the known facts; an unknown one is a placeholder that cannot run. */
export function filledCommand(command: string, known: RunbookCase): string {
  const words = command.match(/"[^"]*"|\S+/g) ?? [];
  const place = command.startsWith('tokenctl ') ? withEitherContext(command, known) : known;
  return words
    .map((word, index) => filledFlag(words[index - 1] ?? '', word, place) ?? filledName(word, place))
    .join(' ');
}

/** What only a database or only the REST API can do. */
const DATABASE_ONLY = /--deactivate\b|--identity-provider\b|^tokenctl (?:refresh-tokens|sessions) /;
const REST_ONLY = /--reset-password\b/;

/** The commands of `tokenctl incident` whose reason is not that of the incident. */
const WITH_OWN_REASON: readonly string[] = ['mark', 'lift'];

/** If only one context of the controller is known, it replaces the other in commands that both can run. */
function withEitherContext(command: string, known: RunbookCase): RunbookCase {
  const { rest, database, isRestDown = false } = known;
  const [, topic, verb = ''] = command.split(' ');
  return {
    ...known,
    ...(topic === 'incident' && WITH_OWN_REASON.includes(verb) && { reason: null }),
    rest: rest ?? (REST_ONLY.test(command) ? null : database),
    database: database ?? (isRestDown || DATABASE_ONLY.test(command) ? null : rest),
  };
}

/** The value of a flag; null if it does not depend on the case. */
function filledFlag(flag: string, value: string, known: RunbookCase): string | null {
  switch (flag) {
    case '--reason':
      return filled(known.reason, 'reason');
    case '--ticket':
      return filled(known.ticket, 'ticket');
    case '--id':
    case '--token':
      return placeholder('token-id');
    case '--user':
      return filled(known.user, 'user');
    case '--application':
      return filled(known.application, 'application');
    case '--keep-active':
      return placeholder('administrator');
    case '--item':
      return placeholder('item');
    case '--gone':
      return filled(known.directory ?? null, 'directory');
    case 'release':
    case 'dismiss':
      return placeholder('event');
    case '--since':
      // A relative time is the same in every case; a date is not.
      return value.includes('T') ? filled(known.since, 'start-of-incident') : null;
    default:
      return null;
  }
}

function filledName(word: string, known: RunbookCase): string {
  switch (word) {
    case 'production':
      return filled(known.rest, 'rest-context');
    case 'production-db':
      return filled(known.database, 'database-context');
    case 'inc-1a2b3c4d':
      return filled(known.incident, 'incident');
    case '0b9c8f1e':
      return filled(known.cleaning, 'run-of-the-cleaning');
    case 'alice':
    case 'bob':
      return filled(known.user, 'user');
    case 'chatops':
      return filled(known.application, 'application');
    case 'alice.json':
      return known.user === null ? 'investigation.json' : shellWord(`${known.user}.json`);
    default:
      return word;
  }
}

/** A sentence of a runbook about the user, the application and contexts of the case, with its commands. */
export function filledText(text: string, known: RunbookCase): string {
  return text
    .split('`')
    .map((part, place) => {
      if (place % 2 === 1) return filledCommand(part, known);
      const users = part.replaceAll(USERS, () => known.user ?? 'the user');
      return known.application === null
        ? users
        : users.replaceAll(APPLICATION, () => known.application ?? '');
    })
    .join('`');
}

/** The Markdown of a runbook with the known facts, with its lines unchanged otherwise. */
export function filledMarkdown(markdown: string, known: RunbookCase): string {
  return markdown
    .split(/(\n{2,})/)
    .map((block) => {
      if (!block.startsWith('    ')) return filledText(block, known);
      return block.replaceAll(/^ {4}(.*)$/gm, (_, row) => `    ${commandOf(row, known)}`);
    })
    .join('');
}

/** The Markdown of a runbook as a document for a case: paragraphs, lists, and commands to copy. */
export function runbookDocument(markdown: string, known: RunbookCase): Document {
  return markdown.split(/\n{2,}/).flatMap((block): Part[] => {
    const rows = block.split('\n').filter((row) => row.trim() !== '');
    const [first = ''] = rows;
    const heading = /^(#{1,3}) (.*)$/.exec(first);
    if (heading !== null) {
      const level = Math.min(3, heading[1]?.length ?? 1) as 1 | 2 | 3;
      const rest = rows.slice(1).join('\n');
      const own: Part = { kind: 'heading', level, text: filledText(heading[2] ?? '', known) };
      return [own, ...(rest === '' ? [] : (runbookDocument(rest, known) as Part[]))];
    }
    if (first.startsWith('    ')) return [code(...rows.map((row) => commandOf(row.slice(4), known)))];
    const isList = /^(?:-|\d+\.) /.test(first);
    const texts = isList ? itemsOf(rows) : [rows.map((row) => row.trim()).join(' ')];
    const shown = texts.map((text) => filledText(text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'), known));
    return [isList ? lines(list(...shown)) : lines(...shown)];
  });
}

/** A line to copy: a command for the case, even after a pipe; anything else unchanged. */
function commandOf(row: string, known: RunbookCase): string {
  return row.replace(/(^|\| )(tokenctl .*)$/, (_, before, command) => before + filledCommand(command, known));
}

/** The items of a list; an indented line continues the one above. */
function itemsOf(rows: readonly string[]): readonly string[] {
  const items: string[] = [];
  for (const row of rows) {
    const item = /^(?:-|\d+\.) (.*)$/.exec(row)?.[1];
    if (item === undefined) items.push(`${items.pop() ?? ''} ${row.trim()}`.trim());
    else items.push(item);
  }
  return items;
}
