import { shellWord } from '../remedies.ts';
import { asWritten } from './cleaning.ts';
import {
  type FieldChange,
  type InvestigationItem,
  type ItemRemedy,
  isLeft,
  isStillThere,
} from './investigation.ts';
import { callRemedy, requestsText } from './tried-requests.ts';

const ROOT = '/api/gateway/v1/';

/** Kinds whose fields can be written over a gateway's REST API [seen]. */
const WRITABLE: Readonly<Record<string, { readonly path: string; readonly fields: readonly string[] }>> = {
  user: { path: 'users', fields: ['is_superuser', 'username', 'email', 'first_name', 'last_name'] },
  o_auth2_application: {
    path: 'applications',
    fields: ['name', 'description', 'redirect_uris', 'client_type', 'skip_authorization'],
  },
};

/** What else to do about a kind that no single request resolves. */
const BY_HAND: Readonly<Record<string, string>> = {
  authenticator:
    'Compare its configuration with the intended one, at the identity provider as well. The previous values are not recorded.',
  authenticator_map:
    'Compare it with the intended one: it gives permissions to users who log in. The previous values are not recorded.',
  organization: 'Others may use it. When that is clear, delete it manually.',
  team: 'Others may use it. When that is clear, delete it manually.',
};

/** A gateway's item with what to do about it. A gateway has its own paths; tokenctl cleans nothing there. */
export function withGatewayRemedy(item: InvestigationItem, context: string): InvestigationItem {
  return { ...item, remedy: isStillThere(item) ? gatewayRemedy(item, context) : null };
}

function gatewayRemedy(item: InvestigationItem, context: string): ItemRemedy | null {
  const { object, act, remedy } = item;
  if (remedy?.kind === 'command') return remedy;
  if (object.id === null) return manual('The activity stream does not say which object it is.');
  if (act === 'made') return madeRemedy(item, object.id, context);
  if (act !== 'changed') return manual('Undo it in the web interface.');
  return changedRemedy(item);
}

function madeRemedy({ object }: InvestigationItem, id: number, context: string): ItemRemedy {
  switch (object.kind) {
    case 'o_auth2_access_token':
      return command(`tokenctl tokens revoke --context ${shellWord(context)} --id ${id}`);
    case 'o_auth2_application': {
      const name = shellWord(object.name ?? '');
      const named = name.startsWith('-') ? `-- ${name}` : name;
      return command(`tokenctl applications delete --context ${shellWord(context)} --id ${id} ${named}`);
    }
    case 'user':
      return callRemedy([`DELETE ${ROOT}users/${id}/`]);
    case 'role_user_assignment':
    case 'role_team_assignment':
      return callRemedy([`DELETE ${ROOT}${object.kind}s/${id}/`]);
    case 'role_definition':
      return manual(`Check what it allows, and who has it, at ${ROOT}role_definitions/${id}/.`);
    default:
      return manual(BY_HAND[object.kind] ?? 'Others may use it. When that is clear, delete it manually.');
  }
}

function changedRemedy({ object, changes }: InvestigationItem): ItemRemedy {
  const left = changes.filter(isLeft);
  const { path, fields = [] } = WRITABLE[object.kind] ?? {};
  const isSetting = object.kind === 'setting' && object.name !== null;
  const isBack = ({ field, state, ...change }: FieldChange) =>
    'before' in change &&
    (state === 'as_left' || state === 'unknown') &&
    !/\[hidden\]|…/.test(JSON.stringify(change.before ?? null)) &&
    (isSetting || fields.includes(field));
  const back = Object.fromEntries(
    left.filter(isBack).map(({ field, before }) => [field, asWritten(field, before)]),
  );
  const rest = left.filter((change) => !isBack(change)).map(({ field }) => field);
  const restText = rest.length === 0 ? '' : restOf(object.kind, rest);
  const body = JSON.stringify(back);
  const request = isSetting
    ? `PUT ${ROOT}settings/all/ ${body}`
    : path === undefined
      ? null
      : `PATCH ${ROOT}${path}/${object.id}/ ${body}`;
  if (request === null || Object.keys(back).length === 0) return manual(restText || unrecorded(object.kind));
  return restText === '' ? callRemedy([request]) : manual(`${restText} Then send ${requestsText([request])}`);
}

function restOf(kind: string, fields: readonly string[]): string {
  if (kind === 'user' && fields.includes('password'))
    return 'Set a new password. The previous one is not known.';
  if (kind === 'o_auth2_application' && fields.includes('client_secret')) return unrecorded(kind);
  return BY_HAND[kind] ?? `Set manually: ${fields.join(', ')}.`;
}

/** A change without any recorded details. */
function unrecorded(kind: string): string {
  return kind === 'o_auth2_application'
    ? 'The change was not recorded: it may be the client secret. Replace it with the command `applications rotate-secret` in a database context, and compare the other fields.'
    : (BY_HAND[kind] ?? 'Compare it with the intended one: the previous values were not recorded.');
}

function manual(text: string): ItemRemedy {
  return { kind: 'manual', text };
}

function command(text: string): ItemRemedy {
  return { kind: 'command', text };
}
