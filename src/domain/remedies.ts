import { basicAuthCaution, managementCommands } from './dialect.ts';
import type { Selector } from './selector.ts';

/** What an operation selected, as far as commands can name it. */
export interface RemedySelection {
  /** What the commands cover: `tokens` is a selection by criteria that no other command takes. */
  readonly kind: 'all' | 'users' | 'applications' | 'tokens';
  /** The names of the users or applications. */
  readonly names: readonly string[];
  /** The owners of the selected tokens. */
  readonly owners: readonly string[];
}

/** Where the commands of a remedy run. */
export interface RemedyPlace {
  readonly dialect: 'controller' | 'gateway' | 'service';
  /** The context of the operation. */
  readonly context: string;
  /** The configured context for the database of the same controller. */
  readonly databaseContext?: string | undefined;
}

/** The selection of a selector; `owners` are those of the tokens that it found. */
export function selectionOf(selector: Selector, owners: readonly string[]): RemedySelection {
  const { all, users, applications, ...others } = selector;
  const isWhole = Object.values(others).every((value) => value === undefined);
  if (isWhole && all === true) return { kind: 'all', names: [], owners };
  if (isWhole && users !== undefined && applications === undefined)
    return { kind: 'users', names: users, owners };
  if (isWhole && applications !== undefined && users === undefined)
    return { kind: 'applications', names: applications, owners };
  return { kind: 'tokens', names: [], owners: users ?? owners };
}

/** How to end the refresh tokens of a selection that this target can neither list nor revoke. */
export function refreshTokensRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const { databaseContext, dialect } = place;
  const exact = databaseContext === undefined ? null : revokeCommand(selection, databaseContext);
  if (exact !== null) return `Run ${exact}.`;
  if (selection.kind === 'applications') {
    return 'Delete the application, or use a database context: no management command revokes the tokens of one application.';
  }
  if (selection.kind === 'tokens') {
    const listed = forUsers(selection.owners, databaseContext ?? 'NAME', 'refresh-tokens list');
    return databaseContext === undefined
      ? 'Add a database context with `tokenctl context add`: no management command revokes only these.'
      : `No command revokes only these. List them with ${listed}.`;
  }
  const { revokeTokens } = managementCommands(dialect);
  return selection.kind === 'all'
    ? `Run \`${revokeTokens} --all\` on the server.`
    : onServer(revokeTokens, selection.names, ' --all');
}

/** How to end the unredeemed authorization codes of a selection that this target can neither list nor delete. */
export function authorizationCodesRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const { context, databaseContext } = place;
  const now = databaseContext === undefined ? null : revokeCommand(selection, databaseContext);
  if (now !== null) return `Delete them with ${now}.`;
  const again = revokeCommand(selection, context) ?? 'the same command';
  return `Once they have expired, run ${again} again: it revokes tokens that were obtained with them. No management command deletes them.`;
}

/** How to end the sessions of a selection that an operation left alone. */
export function sessionsRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const { databaseContext, dialect } = place;
  const users = selection.kind === 'users' ? selection.names : selection.owners;
  const isAll = selection.kind === 'all';
  if (databaseContext !== undefined) {
    if (isAll) return `Run \`tokenctl sessions expire --context ${shellWord(databaseContext)} --all\`.`;
    return users.length === 0
      ? `The owners of the tokens were not read. Choose them from \`tokenctl sessions list --context ${shellWord(databaseContext)}\`, and end their sessions with tokenctl sessions expire.`
      : `Run ${forUsers(users, databaseContext, 'sessions expire')}.`;
  }
  const { endSessions } = managementCommands(dialect);
  if (endSessions === null) {
    return 'Use a database context with `tokenctl sessions expire`, which requires a recent release of the gateway: `aap-gateway-manage clearsessions` only removes expired sessions.';
  }
  if (!isAll && users.length === 0) {
    return 'The owners of the tokens were not read. Use a database context: tokenctl sessions list shows whose sessions there are.';
  }
  return isAll ? `Run \`${endSessions}\` on the server.` : onServer(endSessions, users);
}

/** How to keep passwords from being used instead of tokens. */
export function passwordsRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const command = `\`tokenctl settings basic-auth off --context ${shellWord(place.context)}\``;
  const caution = basicAuthCaution(place.dialect);
  const more = caution === null ? '' : ` ${caution}`;
  return selection.kind === 'all'
    ? `Run ${command}, and change the passwords that are known.${more}`
    : `Change the passwords that are known. ${command} turns it off for all users.${more}`;
}

/** The tokenctl command that revokes the tokens of a selection, in backquotes; null where none names exactly that. */
function revokeCommand({ kind, names }: RemedySelection, context: string): string | null {
  const command = `tokenctl tokens revoke --context ${shellWord(context)}`;
  if (kind === 'all') return `\`${command} --all\``;
  if (kind === 'tokens' || names.length === 0 || names.length > MAX_NAMES) return null;
  const flag = kind === 'users' ? '--user' : '--application';
  return `\`${[command, ...names.map((name) => flagWith(flag, name))].join(' ')}\``;
}

/** The names that one command takes at most; a longer one could not be read. */
const MAX_NAMES = 20;

function forUsers(users: readonly string[], context: string, command: string): string {
  const words = `tokenctl ${command} --context ${shellWord(context)}`;
  if (users.length === 0 || users.length > MAX_NAMES) return `\`${words} --user NAME\` for each user`;
  return `\`${[words, ...users.map((name) => flagWith('--user', name))].join(' ')}\``;
}

/** A management command for these users, of which it takes one at a time. */
function onServer(command: string, users: readonly string[], end = ''): string {
  const [first] = users;
  // Without a name, or with an empty one, the command would act on all users.
  if (first === undefined || users.includes('') || users.length > MAX_NAMES) {
    return `Run \`${command} --user NAME${end}\` on the server for each user.`;
  }
  if (users.length === 1) return `Run \`${command} ${flagWith('--user', first)}${end}\` on the server.`;
  const loop = `for name in ${users.map(shellWord).join(' ')}; do ${command} --user="$name"${end}; done`;
  return `Run \`${loop}\` on the server.`;
}

function flagWith(flag: string, value: string): string {
  return value.startsWith('-') ? `${flag}=${shellWord(value)}` : `${flag} ${shellWord(value)}`;
}

/** A word that a POSIX shell reads as exactly this text. Control characters are escaped as bash and zsh read them. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  if (!/\p{Cc}/u.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text
    .replaceAll(/[\\']/g, '\\$&')
    .replaceAll(/\p{Cc}/gu, (each) => `\\x${(each.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`);
  return `$'${escaped}'`;
}
