import { countText } from '@tokenctl/common/web/times.tsx';
import type { CaseRead as Answer } from '../../../console/case/cases.ts';
import type { ShownInvestigation } from '../../../console/case/shown-investigation.ts';
import { type Json, uncheckedIn } from '../api.ts';
import type { Account } from '../begin.tsx';
import type { ChosenPlace } from '../controller.tsx';

export type CaseRead = Json<Answer>;

/** The properties of a part of a case's page: the case, and its context. */
export interface CaseProps {
  readonly read: CaseRead;
  readonly place: string;
}

/** The same, if a person can choose among contexts. */
export interface ChosenCase {
  readonly read: CaseRead;
  readonly chosen: ChosenPlace;
}

/** An investigation in the console's response. */
export type InvestigationRead = Json<ShownInvestigation>;

export type Item = InvestigationRead['items'][number];

/** The incident's reason and ticket, the default for everything done for it. */
export function accountOf({ incident: { reason, ticket } }: Pick<CaseRead, 'incident'>): Account {
  return { reason: reason ?? '', ticket: ticket ?? '' };
}

/** A phrase with a capital at its start. */
export function sentence(text: string): string {
  return text.replace(/^./, (first) => first.toUpperCase());
}

/** The subject of a lockdown: its names, or else its selection. */
export function whomText({ scope, selection }: Pick<CaseRead['incident'], 'scope' | 'selection'>): string {
  const names = scope.kind === 'users' ? scope.names : [];
  return names.length === 0 || names.length > MOST_NAMED
    ? selection
    : new Intl.ListFormat('en').format(names);
}

const MOST_NAMED = 3;

/** One stage of a case: its state, and what to do. */
export interface Stage {
  /** The id of its section on the page. */
  readonly id: 'lockdown' | 'investigation' | 'cleaning' | 'report' | 'lift';
  readonly title: string;
  /** Its state, in a few words; empty if nothing was done yet. */
  readonly text: string;
  /** What to do there, as a phrase. */
  readonly act: string;
  readonly variant: 'success' | 'danger' | 'warning' | 'pending' | 'info';
  readonly isNext: boolean;
}

type Known = Omit<Stage, 'isNext'> & { readonly isDone: boolean };

/** The stages of a case, in order. For a closed case, only a report can be next. */
export function stagesOf(read: CaseRead): readonly Stage[] {
  const known = [lockdownOf(read), investigationOf(read), cleaningOf(read), liftOf(read), reportOf(read)];
  const isLifted = read.incident.state === 'lifted';
  const next = known.find(({ id, isDone }) => !isDone && (!isLifted || id === 'report'));
  return known.map(({ isDone: _isDone, ...stage }) => ({ ...stage, isNext: stage.id === next?.id }));
}

function lockdownOf({ incident, finish, users }: CaseRead): Known {
  const { state, holds, notSeen } = incident;
  const stage = {
    id: 'lockdown',
    title: 'Lockdown',
    act: finish === null ? 'check the access paths that are not closed' : 'finish the lockdown',
  } as const;
  if (state === 'lifted') {
    const held = (users ?? []).flatMap(({ name, isActive, stays }) =>
      stays && isActive === false ? name : [],
    );
    const who = held.length === 1 ? `${held[0]} stays` : `${countText(held.length, 'user')} stay`;
    const text = held.length === 0 ? 'lifted' : `lifted, but ${who} deactivated`;
    return { ...stage, text, variant: 'info', isDone: true };
  }
  if (holds === false) return { ...stage, text: 'not in effect', variant: 'danger', isDone: false };
  const unchecked = uncheckedIn(incident);
  if (holds === null || notSeen !== null)
    return { ...stage, text: 'not checked', variant: 'warning', isDone: finish === null };
  return unchecked === 0
    ? { ...stage, text: 'in effect', variant: 'success', isDone: true }
    : {
        ...stage,
        text: `in effect; ${countText(unchecked, 'access path')} not checked`,
        variant: 'warning',
        isDone: true,
      };
}

function investigationOf(read: CaseRead): Known {
  const { theft } = read;
  const last = read.investigations.at(-1);
  const stage = { id: 'investigation', title: 'Investigation' } as const;
  if (read.underway?.problem === null)
    return { ...stage, text: 'in progress', act: 'wait for it', variant: 'info', isDone: false };
  if (last === undefined)
    return theft.of === undefined
      ? { ...stage, text: '', act: 'find out what was done', variant: 'pending', isDone: false }
      : { ...stage, act: 'find out what was done', ...elsewhere(theft.of) };
  if (last.isOutdated)
    return {
      ...stage,
      text: 'older than the last cleanup',
      act: 'investigate again',
      variant: 'warning',
      isDone: false,
    };
  const text = `${countText(last.items, 'item')} found`;
  return { ...stage, text, act: 'investigate again', variant: 'success', isDone: true };
}

/** Work on an account that belongs to another case is done in that case. */
function elsewhere(incident: string) {
  return { text: `in ${incident}`, variant: 'info', isDone: true } as const;
}

function cleaningOf(read: CaseRead): Known {
  const { theft } = read;
  const last = read.investigations.at(-1);
  const stage = { id: 'cleaning', title: 'Cleaning' } as const;
  if (last === undefined)
    return theft.of === undefined
      ? { ...stage, act: 'investigate first', text: '', variant: 'pending', isDone: false }
      : { ...stage, act: 'investigate first', ...elsewhere(theft.of) };
  const { remaining, became, cleaned, byHand, handedOver } = last;
  const act = `decide about ${countText(remaining, 'item')}`;
  const isNone = remaining + cleaned + byHand + handedOver === 0;
  const text = (isNone ? ['nothing is known to remain', ...became] : became).join('; ');
  return remaining === 0
    ? { ...stage, act, text, variant: 'success', isDone: true }
    : { ...stage, act, text, variant: 'danger', isDone: false };
}

/** The report comes last, because it says how the case was closed. An earlier one is a draft. */
function reportOf({ report }: CaseRead): Known {
  const stage = { id: 'report', title: 'Report', act: 'download the report' } as const;
  if (report === null) return { ...stage, text: '', variant: 'pending', isDone: false };
  return report.isOutdated
    ? { ...stage, text: 'older than the last change', variant: 'warning', isDone: false }
    : { ...stage, text: 'made', variant: 'success', isDone: true };
}

function liftOf({ incident }: CaseRead): Known {
  const stage = { id: 'lift', title: 'Close the case', act: 'close the case' } as const;
  return incident.state === 'lifted'
    ? { ...stage, text: 'closed', variant: 'success', isDone: true }
    : { ...stage, text: '', variant: 'pending', isDone: false };
}
