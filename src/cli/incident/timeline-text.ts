import { objectText } from '../../domain/investigation/collect-items.ts';
import { changeOf } from '../../domain/investigation/deed.ts';
import { nounOf } from '../../domain/investigation/kinds.ts';
import { printableValue } from '../../domain/investigation/recorded-values.ts';
import type { TimelineItem } from '../../operations/incident/timeline.ts';

const VERBS: Readonly<Record<string, string>> = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  associate: 'added',
  disassociate: 'removed',
};

const KINDS: Readonly<Record<string, string>> = { intent: 'began', outcome: 'ended', note: 'noted' };

/** The action as a phrase after its actor's name: `created the user mole (8)`. */
export function deedText(item: TimelineItem): string {
  switch (item.source) {
    case 'activity_stream':
      return activityText(item);
    case 'audit_log':
      return logText(item);
    case 'token':
      return item.what;
  }
}

function activityText({ what, data }: TimelineItem): string {
  const [operation = '', kind = ''] = what.split(' ');
  const verb = VERBS[operation];
  // A group of token uses is already a phrase.
  if (verb === undefined) return what;
  const changes = changesOf(data);
  const { object1, object2 } = changes;
  if (typeof object1 === 'string' && typeof object2 === 'string') {
    const [one, other] = [linkedText(changes, 'object1'), linkedText(changes, 'object2')];
    return operation === 'disassociate'
      ? `removed the ${other} from the ${one}`
      : `added the ${other} to the ${one}`;
  }
  const [id, name] = [numberOf(changes['id']), nameOf(changes)];
  // Entries of changes do not name their object.
  const about = id === null && name === null ? nounOf(kind) : objectText({ kind, id, name });
  const fields = operation === 'update' ? Object.keys(changes).filter((field) => field !== 'id') : [];
  return fields.length === 0 ? `${verb} the ${about}` : `${verb} ${fields.join(', ')} of the ${about}`;
}

function linkedText(changes: Readonly<Record<string, unknown>>, member: 'object1' | 'object2'): string {
  return objectText({ kind: String(changes[member]), id: numberOf(changes[`${member}_pk`]), name: null });
}

function logText({ what, data }: TimelineItem): string {
  const [kind = '', operation = '', ...step] = what.split(' ');
  const { result } = data;
  const verb = KINDS[kind];
  if (verb === undefined) return what;
  const ended = typeof result === 'string' ? `: ${result.replaceAll('_', ' ')}` : '';
  return `${verb} ${[operation.replaceAll('.', ' '), ...step].join(' ').replaceAll('_', ' ')}${ended}`;
}

/** Further data of the source, as a phrase; empty for none. */
export function detailsText({ source, data, what }: TimelineItem): string {
  if (source === 'activity_stream' && VERBS[what.split(' ')[0] ?? ''] !== undefined) {
    return Object.entries(changesOf(data))
      .flatMap(([field, value]) => fieldText(field, value))
      .join('; ');
  }
  const known = Object.entries(data).filter(
    ([name, value]) => name !== 'id' && name !== 'result' && value !== null && value !== undefined,
  );
  return known.map(([name, value]) => `${NAMES[name] ?? name} ${valueText(value)}`).join(', ');
}

const NAMES: Readonly<Record<string, string>> = {
  seq: 'entry',
  tokenId: 'token',
  refreshTokenId: 'refresh token',
};

/** A changed field with its values, or a field of a created object; nothing for an empty one. */
function fieldText(field: string, value: unknown): string[] {
  if (field === 'id' || /^object[12]/.test(field) || field === 'action') return [];
  const change = changeOf(value);
  if (change !== null) {
    const [before, after] = change.map((each) => shownValue(field, each));
    return [`${field}: ${before} became ${after}`];
  }
  return value === null || value === '' ? [] : [`${field}: ${shownValue(field, value)}`];
}

function shownValue(field: string, value: unknown): string {
  const shown = printableValue(field, value);
  return shown === undefined ? 'hidden' : shown === '' ? 'empty' : valueText(shown);
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function changesOf(data: TimelineItem['data']): Readonly<Record<string, unknown>> {
  return (data['changes'] ?? {}) as Readonly<Record<string, unknown>>;
}

function nameOf({ username, name }: Readonly<Record<string, unknown>>): string | null {
  return typeof username === 'string' ? username : typeof name === 'string' ? name : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
