import { TokenctlError } from '@tokenctl/common/errors.ts';
import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import { IdSet } from '../../domain/compact-collections.ts';
import { type OrphanUse, orphanUse } from '../../domain/dialect.ts';
import { isLeaseDue } from '../../domain/leases.ts';
import type { NotChecked } from '../../domain/policy/judge.ts';
import { type Policy, type RuleName, ruleOf } from '../../domain/policy/policy.ts';
import { DAY, type Fact, type Facts, type PolicySettings } from '../../domain/policy/rule.ts';
import type { Selector } from '../../domain/selector.ts';
import type { Application } from '../../domain/token.ts';
import { knownSources, type OpenLog, speaksFor } from '../directories/known-sources.ts';
import { knownLeases, leasesByToken } from '../journal/recorded-leases.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { AuthenticationSettings } from '../ports/target-parts.ts';
import { type KnownSettings, knownSettings } from '../scope/known-settings.ts';
import { usersWithIdentities } from '../scope/users-with-identities.ts';

export interface FactsWanted {
  readonly target: Target;
  readonly selector: Selector;
  readonly policy: Policy;
  readonly rules: readonly RuleName[];
  readonly now: Date;
  /** Opens the audit log with the directories' answers, for the rules that need them. */
  readonly openLog?: OpenLog | undefined;
}

export interface Gathered {
  readonly facts: Facts;
  /** The applications; empty if no rule needs them. */
  readonly applications: readonly Application[];
  /** The rules whose facts are all known. */
  readonly rules: readonly RuleName[];
  readonly notChecked: readonly NotChecked[];
}

/**
 * Collects the facts that the rules need in addition to the tokens, and no others.
 * @throws Whatever the target throws, except if it refuses a request: the rules that need the response are
 * then not checked.
 */
export async function gatherFacts(wanted: FactsWanted): Promise<Gathered> {
  const gathering = new Gathering(wanted);
  const needed = new Set(
    wanted.rules.map(ruleOf).flatMap(({ needs = [], tells = [] }) => [...needs, ...tells]),
  );
  const refused = new Map<Fact, string>();
  for (const fact of needed) {
    try {
      const why = await gathering[fact]();
      if (typeof why === 'string') refused.set(fact, why);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refused.set(fact, error.message);
    }
  }
  const notChecked = wanted.rules.flatMap((rule) => {
    const why = ruleOf(rule)
      .needs?.map((fact) => refused.get(fact))
      .find((found) => found !== undefined);
    return why === undefined ? [] : [{ rule, why }];
  });
  const skipped = new Set(notChecked.map(({ rule }) => rule));
  return {
    facts: gathering.facts,
    applications: gathering.found,
    rules: wanted.rules.filter((rule) => !skipped.has(rule)),
    notChecked,
  };
}

/** Whether a target refused a request, rather than failing to answer it. */
export function isRefusal(error: unknown): error is TokenctlError {
  return (
    error instanceof TokenctlError && (error.code === 'unsupported' || error.code === 'permission_refused')
  );
}

/** Why a fact is unknown here; undefined if it is known. */
type Unknown = string | undefined;

function noFacts(now: Date) {
  return {
    now,
    unusedTokenIds: new IdSet(),
    neverUsedTokenIds: new IdSet(),
    inactiveUserIds: new IdSet(),
    superuserIds: new IdSet(),
    externalUsers: new Map<number, string>(),
    lastCompared: new Map<number, Date | null>(),
    left: new Map<number, { readonly directory: string; readonly at: Date }>(),
    leases: new Map() as NonNullable<Facts['leases']>,
    lastChanges: new Map() as Facts['lastChanges'],
    settings: null as PolicySettings | null,
    tokensInClear: false as boolean,
    orphanUse: 'assumed' as OrphanUse,
  } satisfies Facts;
}

/** One method for each kind of fact: it reads the target and stores the result. */
class Gathering implements Record<Fact, () => Promise<Unknown> | Promise<void>> {
  readonly #wanted: FactsWanted;
  readonly facts;
  #reading: Promise<KnownSettings> | undefined;
  #description: Promise<TargetDescription> | undefined;
  found: readonly Application[] = [];

  constructor(wanted: FactsWanted) {
    this.#wanted = wanted;
    this.facts = noFacts(wanted.now);
  }

  async unused_tokens(): Promise<Unknown> {
    const { policy, now } = this.#wanted;
    const limit = now.getTime() - policy['unused-for'].days * DAY;
    const since = Math.min(limit, this.#wanted.selector.unusedSince?.getTime() ?? limit);
    return await this.#collect({ unusedSince: new Date(since) }, this.facts.unusedTokenIds);
  }

  never_used_tokens(): Promise<Unknown> {
    return this.#collect({ neverUsed: true }, this.facts.neverUsedTokenIds);
  }

  async inactive_users(): Promise<void> {
    for await (const { id } of this.#wanted.target.users.list({ inactive: true }))
      this.facts.inactiveUserIds.add(id);
  }

  async users(): Promise<void> {
    for await (const { id, isSuperuser, externalAccount } of this.#wanted.target.users.list()) {
      if (isSuperuser) this.facts.superuserIds.add(id);
      if (externalAccount !== null) this.facts.externalUsers.set(id, externalAccount);
    }
  }

  /** From the records of earlier runs: no directory is queried now. */
  async directories(): Promise<Unknown> {
    const { openLog, target } = this.#wanted;
    if (openLog === undefined) return 'The audit log is not read here';
    const { answers, why } = await knownSources(openLog, await this.#describe());
    if (answers === null) return why;
    if (answers.length === 0) return 'No directory was asked about this controller';
    for (const { directory, at, gone } of answers)
      for (const id of gone) this.facts.left.set(id, { directory, at });
    const isIdentified = answers.some(({ accounts }) => accounts.length > 0);
    for await (const { user, identities } of usersWithIdentities(target, { isIdentified })) {
      if (user.externalAccount === null) continue;
      const times = answers
        .filter((answer) => speaksFor(answer, user, identities))
        .map(({ at }) => at.getTime());
      this.facts.lastCompared.set(user.id, times.length === 0 ? null : new Date(Math.max(...times)));
    }
    return undefined;
  }

  async leases(): Promise<Unknown> {
    const { openLog, now } = this.#wanted;
    if (openLog === undefined) return 'The audit log is not read here';
    const { open, why } = await knownLeases(openLog);
    this.facts.leases = new Map(
      [...leasesByToken(open, await this.#describe())].map(([token, leases]) => [
        token,
        leases.map((lease) => ({ ...lease, isOverdue: isLeaseDue(lease, now) })),
      ]),
    );
    return why === null ? undefined : `The audit log could not be read (${why})`;
  }

  /** Of the owners of tokens with write access, found by a separate reading. */
  async last_changes(): Promise<void> {
    const owners = new Set<number>();
    const writing = this.#wanted.target.tokens(narrowed(this.#wanted.selector, { scope: 'write' }));
    await writing.each((page) => {
      for (const token of page) if (token.user !== null && allowsWriting(token)) owners.add(token.user.id);
    });
    if (owners.size > 0) this.facts.lastChanges = await this.#wanted.target.activity.lastChanges([...owners]);
  }

  async settings(): Promise<Unknown> {
    const known = await this.#readSettings();
    this.facts.settings = known.values;
    return known.values === null ? known.error.message : undefined;
  }

  external_tokens(): Promise<Unknown> {
    return this.#told('the tokens of external users', (settings) => [
      settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS,
    ]);
  }

  token_lifetimes(): Promise<Unknown> {
    return this.#told('the lifetime of new tokens', (settings) => [settings.OAUTH2_PROVIDER]);
  }

  session_limit(): Promise<Unknown> {
    return this.#told('the number of sessions per user', (settings) => [
      settings.SESSIONS_PER_USER,
      settings.MAX_EXTRA_SESSIONS_PER_USER,
    ]);
  }

  /** Controllers and gateways do not require it. */
  async pkce(): Promise<Unknown> {
    const { dialect, credential } = await this.#describe();
    return dialect === 'service' && credential === 'database_role'
      ? 'The tables do not record whether the service requires PKCE'
      : undefined;
  }

  async applications(): Promise<void> {
    this.found = await this.#wanted.target.applications.list();
  }

  /** Nothing in advance: they are read after the tokens, and may be refused then. */
  async refresh_tokens(): Promise<void> {
    this.facts.orphanUse = orphanUse(await this.#describe());
  }

  async token_storage(): Promise<Unknown> {
    const { dialect, tokensInClear } = await this.#describe();
    if (dialect !== 'gateway') return undefined;
    this.facts.tokensInClear = tokensInClear ?? false;
    return tokensInClear === undefined ? 'Only the database shows how a gateway stores tokens' : undefined;
  }

  /** Why a rule that needs one of these settings cannot be checked. */
  async #told(what: string, settingsFor: (settings: AuthenticationSettings) => readonly unknown[]) {
    const known = await this.#readSettings();
    if (known.values === null) return known.error.message;
    const isTold = settingsFor(known.values).some((value) => value !== null);
    return isTold ? undefined : `This target has no setting for ${what}`;
  }

  /** Reads them once, even if the first request for them was refused. */
  #readSettings(): Promise<KnownSettings> {
    this.#reading ??= knownSettings(this.#wanted.target);
    return this.#reading;
  }

  #describe(): Promise<TargetDescription> {
    this.#description ??= this.#wanted.target.describe();
    return this.#description;
  }

  async #collect(criteria: Selector, ids: IdSet): Promise<Unknown> {
    const { capabilities } = await this.#describe();
    if (capabilities.lastUsed) return undefined; // the tokens include it
    const tokens = this.#wanted.target.tokens(narrowed(this.#wanted.selector, criteria));
    await tokens.each((page) => {
      for (const { id } of page) ids.add(id);
    });
    return undefined;
  }
}

/** The audited tokens, restricted by further criteria. */
function narrowed({ all: _all, ...selector }: Selector, criteria: Selector): Selector {
  return { ...selector, ...criteria };
}
