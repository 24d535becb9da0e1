import { TokenctlError } from '@tokenctl/common/errors.ts';
import { words } from '@tokenctl/common/text.ts';
import { shellWord } from '../remedies.ts';
import { isInherited } from './deed.ts';
import {
  type AssignedRole,
  type FieldChange,
  type InvestigationItem,
  type ItemRemedy,
  isLeft,
} from './investigation.ts';
import { linkPath, objectPath } from './kinds.ts';
import { isReference, referenceId } from './recorded-values.ts';
import { callRemedy, requestsText } from './tried-requests.ts';

/** The object of an action. A setting has no id. */
export interface CleaningObject {
  readonly kind: string;
  readonly id: number | null;
}

/** A role and its holder, or two objects and their link. */
interface Tie {
  readonly path: string;
  /** The id that the list at the path accepts. */
  readonly id: number;
  /** The role (kind `role`), or the object with the list. */
  readonly object: CleaningObject;
  /** The holder of the role, or the linked object. */
  readonly other: CleaningObject;
  /** `role`, or the name of the link. */
  readonly link: string;
  readonly undoable: true;
}

interface Switch {
  readonly path: string;
  readonly object: CleaningObject;
  readonly field: 'enabled' | 'is_active';
  readonly undoable: true;
}

/** What ends an item: one request to the controller, or one transaction in its database. */
export type CleaningAct =
  | {
      readonly act: 'delete';
      readonly path: string;
      readonly object: CleaningObject;
      readonly undoable: false;
    }
  /** Sets a switch of an object to false, which deactivates it; or back to true. */
  | ({ readonly act: 'disable' } & Switch)
  | ({ readonly act: 'enable' } & Switch)
  | {
      readonly act: 'restore';
      /** Which value to write: the one before the actor's, or, to undo that, the actor's. */
      readonly to: 'before' | 'after';
      readonly path: string;
      readonly object: CleaningObject;
      /** Each with the entries of the activity stream that contain the value before, and the last one. */
      readonly fields: readonly RestoredField[];
      /** Whether the value before is a setting's default, which no entry contains. */
      readonly isDefault: boolean;
      /** The path that gives a template a new webhook key; null if its webhook is absent or unchanged. */
      readonly newWebhookKey: string | null;
      /** The path of a survey to delete, which was empty before; null if there is none. */
      readonly survey: string | null;
      readonly undoable: true;
    }
  /** Gives an object a temporary name, so that others get swapped names back. */
  | {
      readonly act: 'rename';
      readonly path: string;
      readonly object: CleaningObject;
      readonly field: 'name' | 'username';
      readonly name: string;
      readonly undoable: true;
    }
  /** Deletes a role assignment, or creates it again. */
  | ({ readonly act: 'unassign' } & Assignment)
  | ({ readonly act: 'assign' } & Assignment)
  /** Removes a role from its holder, or a link between objects; or restores it. */
  | ({ readonly act: 'disassociate' } & Tie)
  | ({ readonly act: 'associate' } & Tie)
  | {
      readonly act: 'cancel';
      readonly path: string;
      readonly object: CleaningObject;
      readonly undoable: false;
    };

/** A role in the newer role tables. */
interface Assignment {
  readonly path: string;
  /** The assignment that was deleted. A re-created one has another id. */
  readonly object: CleaningObject;
  readonly assignment: AssignedRole;
  readonly undoable: true;
}

/** A field with a recorded value before. */
interface RestoredField {
  readonly field: string;
  /** The activity stream entry with the value before. */
  readonly entry: number;
  /** The entry with the value that the actor left. */
  readonly lastEntry: number;
}

/** What to do about an item: an action, or why none is possible. */
export type Cleaning =
  | Exclude<CleaningAct, { readonly act: 'enable' | 'associate' | 'assign' | 'rename' }>
  | { readonly act: 'manual'; readonly why: string };

/** The action that undoes another one, regardless of the current state; null if it cannot be undone. */
export function undoing(act: CleaningAct): CleaningAct | null {
  switch (act.act) {
    case 'disable':
      return { ...act, act: 'enable' };
    case 'disassociate':
      return { ...act, act: 'associate' };
    case 'unassign':
      return { ...act, act: 'assign', path: `/api/v2/${act.object.kind}s/` };
    case 'restore':
      // A controller 24.6.1 creates a key itself when a webhook is turned on [seen]; a deleted survey is
      // gone.
      return act.fields.length === 0 ? null : { ...act, to: 'after', newWebhookKey: null, survey: null };
    default:
      return null;
  }
}

/**
 * Kinds that are deleted if the actor created them. Deleting others may delete other people's objects (the
 * hosts of an inventory) or break them (the templates of a project): these are left to a person.
 */
const DELETABLE: ReadonlySet<string> = new Set(
  words(`o_auth2_access_token o_auth2_application user team schedule credential job_template
    workflow_job_template workflow_job_template_node notification_template inventory_source host group
    execution_environment role_user_assignment role_team_assignment credential_input_source`),
);

/** How to end a remaining item; null for others. Says what is possible: the plan decides whether to do it. */
export function cleaningOf(item: InvestigationItem): Cleaning | null {
  const { object, act, state, role, other } = item;
  if (state !== 'there' && state !== 'running') return null;
  const path = object.id === null ? null : objectPath(object.kind, object.id);
  if (role !== null) return roleCleaning(item);
  if (other !== null) {
    const list = object.id === null ? null : linkPath(item.link, { kind: object.kind, id: object.id });
    if (list === null || other.id === null) return manual('The API cannot list these links.');
    const tie = { object: { kind: object.kind, id: object.id }, other: { kind: other.kind, id: other.id } };
    return { act: 'disassociate', path: list, id: other.id, ...tie, link: item.link, undoable: true };
  }
  if (object.kind === 'setting') return settingCleaning(item);
  if (path === null) return manual('The API has no such object.');
  const about = { kind: object.kind, id: object.id };
  if (act === 'launched') return { act: 'cancel', path: `${path}cancel/`, object: about, undoable: false };
  if (act === 'made' && item.assignment != null) {
    return { act: 'unassign', path, object: about, assignment: item.assignment, undoable: true };
  }
  if (act === 'made') {
    return DELETABLE.has(object.kind)
      ? { act: 'delete', path, object: about, undoable: false }
      : manual(
          `Others may use it. When that is clear, delete it manually with ${requestsText([`DELETE ${path}`])}.`,
        );
  }
  // The API rejects changes to an approval with 405 [seen], and a decision was carried out.
  if (object.kind === 'workflow_approval')
    return manual('A decision cannot be undone. Cancel the workflow job that continues.');
  return restoring(item, path);
}

function roleCleaning({ role, object }: InvestigationItem): Cleaning {
  if (isInherited({ role, object }))
    return manual('The API cannot list these. Delete the object, or remove the role from its holders.');
  const holders = object.kind === 'user' ? 'users' : object.kind === 'team' ? 'teams' : null;
  if (role?.id == null || holders === null || object.id === null)
    return manual('The entry does not name the role.');
  return {
    act: 'disassociate',
    path: `/api/v2/roles/${role.id}/${holders}/`,
    id: object.id,
    link: 'role',
    object: { kind: 'role', id: role.id },
    other: { kind: object.kind, id: object.id },
    undoable: true,
  };
}

function settingCleaning(item: InvestigationItem): Cleaning {
  const [change] = item.changes;
  if (change === undefined) return manual('The entry does not contain the value.');
  if (!('before' in change) && change.isDefault !== true) {
    return manual(
      change.hidden
        ? 'Its value is secret, so the activity stream does not contain the previous value.'
        : 'Its previous value was the default, which is not available in the activity stream or this context.',
    );
  }
  return restoring(item, '/api/v2/settings/all/');
}

/** Fields that the API accepts elsewhere, or not at all. */
const NOT_WRITABLE: ReadonlySet<string> = new Set(['survey_spec', 'password', 'inputs']);

/** Whether the value before is known, and can be restored without losing other users' changes. */
function isRestorable(change: FieldChange): boolean {
  const { state, field, isMixed, isDefault } = change;
  const isKnown = 'before' in change || isDefault === true;
  return (
    isKnown && (state === 'as_left' || state === 'unknown') && isMixed !== true && !NOT_WRITABLE.has(field)
  );
}

/** The fields whose value before is known, without a known change since. */
function restoring({ changes, object }: InvestigationItem, path: string): Cleaning {
  const fields = changes.filter(isRestorable);
  const webhook = changes.some((change) => change.field.startsWith('webhook_') && isLeft(change));
  const survey = changes.some(
    (change) => change.field === 'survey_spec' && isLeft(change) && isEmpty(change.before),
  );
  if (fields.length === 0 && !survey) return manual(newValues({ object }, changes));
  return {
    act: 'restore',
    to: 'before',
    path,
    object: { kind: object.kind, id: object.kind === 'setting' ? null : object.id },
    fields: fields.map(({ field, entry, lastEntry }) => ({ field, entry, lastEntry })),
    isDefault: fields.some(({ isDefault }) => isDefault === true),
    survey: survey ? `${path}survey_spec/` : null,
    newWebhookKey: webhook ? `${path}webhook_key/` : null,
    undoable: true,
  };
}

function newValues({ object }: Pick<InvestigationItem, 'object'>, changes: readonly FieldChange[]): string {
  const named = (some: readonly FieldChange[]) => some.map(({ field }) => field).join(', ');
  const shared = changes.filter(({ state }) => state === 'left_in_part' || state === 'not_reviewed');
  if (shared.length > 0) {
    return `Others have changed ${named(shared)} since. Compare the values, and manually remove the actor's changes.`;
  }
  const mixed = changes.filter(({ isMixed }) => isMixed === true);
  if (mixed.length > 0) {
    return `Others changed ${named(mixed)} between the actor's changes. Compare the values in the activity stream, and manually remove the actor's changes.`;
  }
  return object.kind === 'user' && changes.some(({ field }) => field === 'password')
    ? 'Set a new password. The previous one is not known.'
    : 'The previous values are secret or were not recorded. Set new ones.';
}

/** The fields that a restoration leaves for a person, as their value before is unknown; null for none. */
export function leftByHand(item: InvestigationItem, act: CleaningAct): string | null {
  if (act.act !== 'restore') return null;
  const { fields, survey, newWebhookKey } = act;
  const restored = new Set([
    ...fields.map(({ field }) => field),
    ...(survey === null ? [] : ['survey_spec']),
    ...(newWebhookKey === null ? [] : ['webhook_key']),
  ]);
  const left = item.changes.filter((change) => isLeft(change) && !restored.has(change.field));
  if (left.length === 0) return null;
  return `${newValues(item, left)} Not restored: ${left.map(({ field }) => field).join(', ')}.`;
}

/** A template without a survey has an empty object. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function manual(why: string): Cleaning {
  return { act: 'manual', why };
}

/** Fields that are text, even if the text is JSON. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(['extra_vars', 'variables', 'source_vars']);

/** A recorded value for the API: references are recorded as `name-id`, lists and objects as JSON. */
export function asWritten(field: string, recorded: unknown): unknown {
  if (isReference(field)) return referenceId(recorded);
  if (typeof recorded !== 'string' || TEXT_FIELDS.has(field) || !/^[{[]/.test(recorded)) return recorded;
  try {
    return JSON.parse(recorded) as unknown;
  } catch {
    return recorded;
  }
}

/** How to resolve an item manually: a tokenctl command if there is one, otherwise the exact request. */
export function remedyOf(item: InvestigationItem, context: string): ItemRemedy | null {
  const { object } = item;
  const cleaning = cleaningOf(item);
  if (cleaning === null) return null;
  if (object.kind === 'o_auth2_access_token' && object.id !== null && item.act === 'made') {
    const text = `tokenctl tokens revoke --context ${shellWord(context)} --id ${object.id}`;
    return { kind: 'command', text };
  }
  if (object.kind === 'o_auth2_application' && object.id !== null && object.name && item.act === 'made') {
    const name = object.name.startsWith('-') ? `-- ${shellWord(object.name)}` : shellWord(object.name);
    const text = `tokenctl applications delete --context ${shellWord(context)} --id ${object.id} ${name}`;
    return { kind: 'command', text };
  }
  switch (cleaning.act) {
    case 'manual':
      return { kind: 'manual', text: cleaning.why };
    case 'delete':
    case 'unassign':
      return callRemedy([`DELETE ${cleaning.path}`]);
    case 'disable':
      return callRemedy([`PATCH ${cleaning.path} ${JSON.stringify({ [cleaning.field]: false })}`]);
    case 'cancel':
      return callRemedy([`POST ${cleaning.path}`]);
    case 'disassociate':
      return callRemedy([`POST ${cleaning.path} ${JSON.stringify({ id: cleaning.id, disassociate: true })}`]);
    case 'restore':
      return restoreRemedy(item, cleaning, context);
  }
}

/** Whether a value is printed without its secrets, or truncated. */
function isShortened(value: unknown): boolean {
  return /\[hidden\]|…/.test(JSON.stringify(value ?? null));
}

function restoreRemedy(
  item: InvestigationItem,
  act: Extract<CleaningAct, { act: 'restore' }>,
  context: string,
): ItemRemedy {
  const { changes } = item;
  const { path, fields, newWebhookKey, survey } = act;
  const byHand = leftByHand(item, act);
  const printable = fields.flatMap(({ field }) => {
    const change = changes.find((each) => each.field === field);
    return change === undefined ? [] : [[field, asWritten(field, change.before)] as const];
  });
  const clean = `\`tokenctl incident clean --context ${shellWord(context)} --from FILE\``;
  if (printable.some(([, value]) => value === undefined)) {
    return { kind: 'manual', text: `Reset it with ${clean}: its previous value was the default.` };
  }
  if (printable.some(([, value]) => isShortened(value))) {
    return { kind: 'manual', text: `Restore it with ${clean}: the values are not shown in full here.` };
  }
  const calls = [
    ...(printable.length === 0 ? [] : [`PATCH ${path} ${JSON.stringify(Object.fromEntries(printable))}`]),
    ...(newWebhookKey === null ? [] : [`POST ${newWebhookKey}`]),
    ...(survey === null ? [] : [`DELETE ${survey}`]),
  ];
  return byHand === null
    ? callRemedy(calls)
    : { kind: 'manual', text: `${byHand} Then send ${requestsText(calls)}` };
}

/** What to do about a refused cleaning action. */
const REMEDIES = {
  changed: 'Run the command again. It reads the current state.',
  name_taken: 'Rename that object, then run the command again.',
  in_use: 'Wait until running jobs have ended, and run the command again.',
  rest_only: 'Run the same command in a context with a URL.',
  rejected: 'A name may be taken, or a related object may have been deleted. Do this manually.',
  by_hand: 'Set it manually.',
} as const;

/**
 * The error of a cleaning action that the target refuses, or that does not fit the current state: nothing was
 * changed. `why` ends a sentence, such as `it was changed since it was read`.
 */
export function refusedAct(
  why: string,
  remedy: keyof typeof REMEDIES,
  more: { readonly cause?: unknown } = {},
): TokenctlError {
  return new TokenctlError('unsupported', why, { ...more, hint: REMEDIES[remedy] });
}
