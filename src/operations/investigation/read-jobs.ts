import { remedyOf } from '../../domain/investigation/cleaning.ts';
import { type ItemDraft, objectText, UNRECORDED_WAY_IN } from '../../domain/investigation/collect-items.ts';
import { fieldVerdict } from '../../domain/investigation/field-verdicts.ts';
import type { Actor, InvestigationItem, JobFacts } from '../../domain/investigation/investigation.ts';
import { TEMPLATES } from '../../domain/investigation/kinds.ts';
import { findingsOn } from '../../domain/investigation/risk.ts';
import type { Evidence, JobRecord, Window } from '../ports/evidence.ts';
import type { FollowedChain } from './follow-chain.ts';

/** The maximum number of jobs to list. */
const MAX_JOBS = 5000;

/** The states of unfinished jobs. */
const RUNNING: ReadonlySet<string> = new Set(['new', 'pending', 'waiting', 'running']);

interface RanItems {
  readonly items: readonly InvestigationItem[];
  /** Whether more jobs ran than are listed. */
  readonly isBounded: boolean;
}

/**
 * The jobs that the chain launched, and those that ran what it created or changed, from then on. Sources are
 * the list of jobs, which also has what the activity stream does not record (updates of projects and
 * inventories, scheduled jobs), and the entries.
 */
export async function jobItems(
  evidence: Evidence,
  found: {
    readonly drafts: readonly ItemDraft[];
    /** The items of these drafts, with their state. */
    readonly items: readonly InvestigationItem[];
    readonly chain: FollowedChain;
    readonly window: Window;
    readonly context: string;
  },
): Promise<RanItems> {
  const { drafts, chain, window } = found;
  const recorded = new Map(drafts.filter(({ group }) => group === 'ran').map((draft) => [draft.id, draft]));
  const sources = sourcesOf(drafts, found.items);
  const items = new Map<string, InvestigationItem>();
  let isBounded = false;
  const jobs = evidence.jobs({
    ...window,
    createdBy: chain.members.flatMap(({ user }) => (user.id === null ? [] : [user.id])),
    templateIds: [...sources.values()].flatMap(({ object }) =>
      object.kind === 'schedule' || object.id === null ? [] : [object.id],
    ),
    scheduleIds: [...sources.values()].flatMap(({ object }) =>
      object.kind === 'schedule' && object.id !== null ? [object.id] : [],
    ),
  });
  for await (const job of jobs) {
    const id = `${job.kind}:${job.id}`;
    if (items.has(id)) continue;
    const because = reasonOf(job, { chain, sources });
    if (because === null) continue;
    if (items.size >= MAX_JOBS) {
      isBounded = true;
      break;
    }
    items.set(id, jobItem(job, { because, draft: recorded.get(id), context: found.context }));
  }
  for (const [id, draft] of recorded) {
    if (items.has(id) || draft.act !== 'launched') continue;
    items.set(id, deletedJob(draft));
  }
  return { items: [...items.values()], isBounded };
}

/** Something that ran other code, and when. */
interface Source {
  readonly act: ItemDraft['act'];
  readonly object: ItemDraft['object'];
  readonly first: Date;
  /** When another user changed or restored it; null if never. */
  readonly end: Date | null;
}

/** When nothing was left of a change: at the last change by another user. */
function endOf({ state, changedSince }: InvestigationItem): Date | null {
  const last = state === 'undone' || state === 'changed' ? changedSince.at(-1) : undefined;
  return last === undefined ? null : new Date(last.at);
}

/** What the chain created or changed so that other code runs, by the id that jobs refer to. */
function sourcesOf(drafts: readonly ItemDraft[], items: readonly InvestigationItem[]) {
  const ends = new Map(items.map((item) => [item.id, endOf(item)]));
  const sources = new Map<string, Source>();
  for (const draft of drafts) {
    const { object, act, changes, other, role, group } = draft;
    if (object.id === null || other !== null || role !== null || group !== 'code_later') continue;
    const verdicts = [...changes.keys()].map((field) => fieldVerdict(object.kind, field));
    if (act !== 'made' && !verdicts.some((verdict) => verdict === 'code' || verdict === null)) continue;
    const source = { act, object, first: draft.first, end: ends.get(draft.id) ?? null };
    if (TEMPLATES.has(object.kind)) sources.set(`template:${object.id}`, source);
    if (object.kind === 'schedule') sources.set(`schedule:${object.id}`, source);
  }
  return sources;
}

function reasonOf(
  { createdBy, created, template, scheduleId }: JobRecord,
  { chain, sources }: { chain: FollowedChain; sources: ReadonlyMap<string, Source> },
): JobFacts['because'] | null {
  const member = chain.members.find(({ user }) => createdBy !== null && user.id === createdBy.id);
  if (member !== undefined && created >= member.since) return 'launched';
  for (const key of [`schedule:${scheduleId}`, `template:${template?.id}`]) {
    const source = sources.get(key);
    if (source !== undefined && created >= source.first && (source.end === null || created < source.end))
      return source.act === 'made' ? 'made' : 'changed';
  }
  return null;
}

const REASONS: Readonly<Record<JobFacts['because'], string>> = {
  launched: 'launched',
  made: 'ran from what the actor created:',
  changed: 'ran from what the actor changed:',
};

/** What the items of jobs have in common. */
const JOB_ITEM = {
  ...UNRECORDED_WAY_IN,
  group: 'ran',
  act: 'launched',
  findings: [],
  risk: null,
  remedy: null,
} as const;

function jobItem(
  job: JobRecord,
  options: { because: JobFacts['because']; draft: ItemDraft | undefined; context: string },
): InvestigationItem {
  const { because, draft, context } = options;
  const object = { kind: job.kind, id: job.id, name: job.name };
  const by: readonly Actor[] = draft?.by ?? (job.createdBy === null ? [] : [job.createdBy]);
  const item: InvestigationItem = {
    ...JOB_ITEM,
    id: `${job.kind}:${job.id}`,
    object,
    by,
    summary: `${REASONS[because]} ${because === 'launched' ? 'the ' : ''}${objectText(object)}`,
    first: job.created.toISOString(),
    last: (job.finished ?? job.created).toISOString(),
    entries: draft?.entries ?? [],
    entryCount: draft?.entryCount ?? 0,
    state: RUNNING.has(job.status) ? 'running' : 'finished',
    job: {
      status: job.status,
      launchType: job.launchType,
      credentials: job.credentials,
      hosts: job.hosts,
      because,
      started: job.started?.toISOString() ?? null,
      finished: job.finished?.toISOString() ?? null,
      template: job.template && { kind: templateKind(job.kind), ...job.template },
    },
  };
  return withRisk(item, context);
}

function templateKind(kind: string): string {
  return (
    {
      job: 'job_template',
      workflow_job: 'workflow_job_template',
      project_update: 'project',
      inventory_update: 'inventory_source',
    }[kind] ?? 'unified_job_template'
  );
}

/** A job of which only the entries remain. */
function deletedJob(draft: ItemDraft): InvestigationItem {
  const item: InvestigationItem = {
    ...JOB_ITEM,
    id: draft.id,
    object: draft.object,
    by: draft.by,
    summary: `launched the ${objectText(draft.object)}`,
    first: draft.first.toISOString(),
    last: draft.last.toISOString(),
    entries: draft.entries,
    entryCount: draft.entryCount,
    state: 'gone',
  };
  return withRisk(item, '');
}

function withRisk(item: InvestigationItem, context: string): InvestigationItem {
  const findings = findingsOn({ ...item, changes: new Map() });
  return { ...item, findings, risk: findings[0]?.severity ?? null, remedy: remedyOf(item, context) };
}
