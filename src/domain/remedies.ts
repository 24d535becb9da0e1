import { basicAuthCaution, managementCommands } from './dialect.ts';
import { patternOf, type Selector, wholeSelection } from './selector.ts';

/** The selection of an operation, as far as commands can express it. */
export interface RemedySelection {
  /** What the commands cover: `tokens` is a selection by criteria that no other command accepts. */
  readonly kind: 'all' | 'users' | 'applications' | 'tokens';
  readonly names: readonly string[];
  readonly owners: readonly string[];
}

/** Where the commands of a remedy run. */
export interface RemedyPlace {
  readonly dialect: 'controller' | 'gateway' | 'service';
  readonly context: string;
  /** The configured context for the database of the same controller. */
  readonly databaseContext?: string | undefined;
}

/** The selection of a selector; `owners` are those of the tokens found. */
export function selectionOf(selector: Selector, owners: readonly string[]): RemedySelection {
  const { all, users, applications } = selector;
  const isWhole = wholeSelection(selector) !== null;
  if (isWhole && all === true) return { kind: 'all', names: [], owners };
  if (isWhole && users !== undefined && applications === undefined)
    return { kind: 'users', names: users, owners };
  if (isWhole && applications !== undefined && users === undefined)
    return { kind: 'applications', names: applications, owners };
  return { kind: 'tokens', names: [], owners: users ?? owners };
}

const ADD_CONTEXT = 'Add a database context with `tokenctl context add`';

/** How to end a selection's refresh tokens, which this target can neither list nor revoke. */
export function refreshTokensRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const { databaseContext, dialect } = place;
  const exact = databaseContext === undefined ? null : revokeCommands(selection, databaseContext);
  if (exact !== null) return `Run ${exact}.`;
  if (databaseContext !== undefined && selection.kind !== 'tokens') return againIn(databaseContext);
  if (selection.kind === 'applications') {
    return 'Delete the application, or use a database context: no management command revokes the tokens of one application.';
  }
  if (selection.kind === 'tokens') {
    if (databaseContext === undefined) return `${ADD_CONTEXT}: no management command revokes only these.`;
    const listed =
      forUsers(selection.owners, databaseContext, 'refresh-tokens list') ??
      `\`tokenctl refresh-tokens list --context ${shellWord(databaseContext)}\``;
    return `No command revokes only these. List them with ${listed}.`;
  }
  const { revokeTokens } = managementCommands(dialect);
  if (revokeTokens === null) return `${ADD_CONTEXT}, and run the same command there.`;
  return selection.kind === 'all'
    ? `Run \`${revokeTokens} --all\` on the server.`
    : onServer(revokeTokens, selection.names, ' --all');
}

/** How many remaining refresh tokens are expired, as a further sentence; empty for none, and if unknown. */
export function expiredText({
  expiredRefreshTokens: expired,
}: {
  expiredRefreshTokens?: number | null;
}): string {
  if (!expired) return '';
  return ` ${expired} of them ${expired === 1 ? 'is' : 'are'} expired: rejected, unless REFRESH_TOKEN_EXPIRE_SECONDS is raised.`;
}

/** How to end a selection's unredeemed authorization codes, which this target can neither list nor delete. */
export function authorizationCodesRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const { context, databaseContext } = place;
  const now = databaseContext === undefined ? null : revokeCommands(selection, databaseContext);
  if (now !== null) return `Delete them with ${now}.`;
  if (databaseContext !== undefined && selection.kind !== 'tokens') return againIn(databaseContext);
  const again = revokeCommands(selection, context) ?? 'the same command';
  return `After they have expired, run ${again} again: it revokes tokens that were obtained with them. No management command deletes them.`;
}

/** How to end a selection's sessions that an operation did not end. */
export function sessionsRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const { databaseContext, dialect } = place;
  const users = selection.kind === 'users' ? selection.names : selection.owners;
  const isAll = selection.kind === 'all';
  if (databaseContext !== undefined) {
    const context = shellWord(databaseContext);
    if (isAll) return `Run \`tokenctl sessions expire --context ${context} --all\`.`;
    const commands = forUsers(users, databaseContext, 'sessions expire');
    if (commands !== null) return `Run ${commands}.`;
    const why = users.length === 0 ? 'The owners of the tokens were not read.' : tooMany(users);
    return `${why} Find them with \`tokenctl sessions list --context ${context}\`, and end their sessions with \`tokenctl sessions expire --context ${context}\` and a --user for each.`;
  }
  if (dialect === 'service') return `${ADD_CONTEXT}, and use \`sessions expire\` there.`;
  const { endSessions } = managementCommands(dialect);
  if (endSessions === null) {
    return 'Add a database context, and use `sessions expire` there, which requires a recent gateway release: `aap-gateway-manage clearsessions` only removes expired sessions.';
  }
  if (!isAll && users.length === 0) {
    return 'The owners of the tokens were not read. Add a database context, and use `sessions list` there to see who has sessions.';
  }
  return isAll ? `Run \`${endSessions}\` on the server.` : onServer(endSessions, users);
}

/** How to revoke the tokens that were kept because they may be the caller's own credential. */
export function ownTokenRemedy(ids: readonly number[], context: string): string {
  const flags = ids.map((id) => `--id ${id}`).join(' ');
  return `Revoke it last with \`tokenctl tokens revoke --context ${shellWord(context)} ${flags} --include-own\`, or from another account.`;
}

/** How to block passwords, which work instead of tokens. */
export function passwordsRemedy(selection: RemedySelection, place: RemedyPlace): string {
  const command = `\`tokenctl settings basic-auth off --context ${shellWord(place.context)}\``;
  const caution = basicAuthCaution(place.dialect);
  const more = caution === null ? '' : ` ${caution}`;
  return selection.kind === 'all'
    ? `Run ${command}, and change the known passwords.${more}`
    : `Change the known passwords. ${command} turns it off for all users.${more}`;
}

/** The tokenctl commands that revoke exactly a selection's tokens, in backquotes; null if there are none. */
export function revokeCommands(
  { kind, names }: Pick<RemedySelection, 'kind' | 'names'>,
  context: string,
): string | null {
  const command = `tokenctl tokens revoke --context ${shellWord(context)}`;
  if (kind === 'all') return `\`${command} --all\``;
  if (kind === 'tokens') return null;
  return forNames(command, kind === 'users' ? '--user' : '--application', names.map(patternOf));
}

/** The maximum number of names per command, for readability. */
const MAX_NAMES = 20;
/** The maximum number of names in a remedy, across several commands. */
const MAX_NAMES_OF_ALL = 200;

function forUsers(users: readonly string[], context: string, command: string): string | null {
  return forNames(`tokenctl ${command} --context ${shellWord(context)}`, '--user', users);
}

/** One or several commands for these names, each in backquotes; null without names, or for too many. */
function forNames(command: string, flag: string, names: readonly string[]): string | null {
  if (names.length === 0 || names.length > MAX_NAMES_OF_ALL) return null;
  const commands: string[] = [];
  for (let start = 0; start < names.length; start += MAX_NAMES) {
    const some = names.slice(start, start + MAX_NAMES);
    commands.push(`\`${[command, ...some.map((name) => flagWith(flag, name))].join(' ')}\``);
  }
  return commands.join(', then ');
}

function tooMany(names: readonly string[]): string {
  return `${names.length} users: too many to list commands.`;
}

/** The remedy for more names than commands are printed for. */
function againIn(databaseContext: string): string {
  return `Run the same command with \`--context ${shellWord(databaseContext)}\`.`;
}

/** A management command for these users, which accepts one at a time. */
function onServer(command: string, users: readonly string[], end = ''): string {
  const [first] = users;
  // Without a name, or with an empty one, the command would act on all users.
  if (first === undefined || users.includes('')) {
    return `Use a database context: \`${command}\` cannot be limited to a user with an empty name.`;
  }
  if (users.length > MAX_NAMES_OF_ALL) {
    return `Use a database context: \`${command}\` accepts one user at a time. ${tooMany(users)}`;
  }
  if (users.length === 1) return `Run \`${command} ${flagWith('--user', first)}${end}\` on the server.`;
  const loop = `for name in ${users.map(shellWord).join(' ')}; do ${command} --user="$name"${end}; done`;
  return `Run \`${loop}\` on the server.`;
}

function flagWith(flag: string, value: string): string {
  return value.startsWith('-') ? `${flag}=${shellWord(value)}` : `${flag} ${shellWord(value)}`;
}

/** A word that a POSIX shell reads as exactly this text. Escapes control characters for bash and zsh. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  if (!/\p{Cc}/u.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text
    .replaceAll(/[\\']/g, '\\$&')
    .replaceAll(/\p{Cc}/gu, (each) => `\\x${(each.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`);
  return `$'${escaped}'`;
}
