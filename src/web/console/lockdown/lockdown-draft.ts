/** The state of the lockdown form, its request, and its plan. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { FormChoice } from '../../../console/command-line.ts';
import { type ContextRead, call, type Ended } from '../api.ts';
import type { Account } from '../begin.tsx';
import { type Choices, isPossible } from '../choices.tsx';
import { type Guards, noGuards } from '../guards.tsx';

export const SCOPES = [
  ['user', 'Users'],
  ['application', 'Applications'],
  ['identityProvider', 'Users of an identity provider'],
  ['all', 'All users'],
] as const;

type Scope = (typeof SCOPES)[number][0];

/** The input of the form. */
export interface Draft {
  readonly scope: Scope;
  readonly names: string;
  readonly provider: string;
  /** Those that differ from the default. */
  readonly choices: Choices;
  readonly hours: string;
  readonly account: Account;
  /** The users that stay active, separated by commas. */
  readonly keepActive: string;
  /** The new file of a rescue token; empty for none. */
  readonly rescueToken: string;
  readonly guards: Guards;
  /** The start of the theft, in the field's format; empty if unknown. */
  readonly since: string;
}

/** A theft to lock down: the account is chosen, and the known facts are passed on to the case. */
export interface KnownTheft {
  readonly scope: 'user' | 'application';
  /** The id of the stolen token; null if unknown. */
  readonly token: number | null;
  /** When it was created (RFC 3339); null if unknown. */
  readonly made: string | null;
  /** The incident that it belongs to, if the intruder created the account. */
  readonly of: string | undefined;
  /** Input made elsewhere. */
  readonly known: Partial<Pick<Draft, 'account' | 'since'>>;
}

export const EMPTY: Draft = {
  ...{ scope: 'user', names: '', provider: 'any', choices: {}, hours: '' },
  ...{ account: { reason: '', ticket: '' }, keepActive: '', rescueToken: '', guards: noGuards, since: '' },
};

interface Held extends Omit<Draft, 'account' | 'guards' | 'since'> {
  readonly place: string;
  /** The chosen single user or application: its name may contain a comma. */
  readonly picked: string | undefined;
  readonly fields: readonly FormChoice[];
  /** Why measures are impossible in the context, by name: these are never requested. */
  readonly gaps: ContextRead['measureGaps'];
}

/** The request of the form, null without a name; and the command's defaults for its selection. */
export function requestOf(held: Held) {
  const { place, fields, scope, names, provider, choices, gaps, hours } = held;
  const list = held.picked === undefined ? namesIn(names) : [held.picked];
  const isWide = scope === 'all' || scope === 'identityProvider';
  const defaults: Choices = {
    ...Object.fromEntries(fields.map(({ name, onFor }) => [name, onFor.includes(scope)])),
    deactivate: scope === 'user',
    resetPassword: gaps['deactivate'] !== undefined && scope === 'user',
  };
  const isOn = (name: string) => gaps[name] === undefined && (choices[name] ?? defaults[name] ?? false);
  // An unchanged switch is not sent: the command has the same default.
  const chosen = fields.flatMap((field) => {
    const { name, isSwitch } = field;
    if (isSwitch) return choices[name] === undefined ? [] : [[name, choices[name]] as const];
    return isPossible(field, scope) && isOn(name) ? [[name, true] as const] : [];
  });
  const deactivates = chosen.some(([name]) => name === 'deactivate');
  const keepActive = deactivates ? namesIn(held.keepActive) : [];
  const isBasicOff = isOn('basicAuthOff');
  const rescueToken = isBasicOff ? held.rescueToken.trim() : '';
  const who = {
    user: { user: list },
    application: { application: list },
    identityProvider: { identityProvider: provider },
    all: { all: true },
  }[scope];
  const request = {
    kind: 'incident lockdown',
    place,
    ...who,
    ...Object.fromEntries(chosen),
    ...(Number(hours) > 0 && { hours: Number(hours) }),
    ...(keepActive.length > 0 && { keepActive }),
    ...(rescueToken !== '' && { rescueToken }),
  };
  return {
    request: isWide || list.length > 0 ? request : null,
    defaults,
    isBasicOff,
    deactivates,
    /** The labels of the measures that will be taken. */
    taken: fields.filter((field) => isPossible(field, scope) && isOn(field.name)).map(({ label }) => label),
  };
}

export function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** The id of the incident that a plan opens, so that it is confirmed; the plan finds an open one itself. */
export function plannedId(planned: Ended | undefined): { readonly newIncident?: string } {
  const { plan } = (planned?.json ?? {}) as { readonly plan?: { incident: string; continues: boolean } };
  return plan === undefined || plan.continues ? {} : { newIncident: plan.incident };
}

const SETTLED_MS = 500;

/** The plan of a request, once it has not changed for a moment. */
export function usePlan(request: object | null) {
  const [settled, setSettled] = useState<string | null>(null);
  const wanted = request === null ? null : JSON.stringify(request);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  return useQuery({
    queryKey: ['plan', settled],
    queryFn: ({ signal }) =>
      call<Ended & { readonly command: string }>('/api/plans', { body: JSON.parse(settled ?? '{}'), signal }),
    enabled: settled !== null && settled === wanted,
    retry: false,
  });
}
