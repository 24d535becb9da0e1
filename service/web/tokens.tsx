/** The tokens of a user or application: list and creation. */
import { Alert, Label, PageSection } from '@patternfly/react-core';
import { NEVER_DAYS } from '@tokenctl/common/token-terms.ts';
import { callApi, type Page, withQuery } from '@tokenctl/common/web/api.ts';
import type { DateRange } from '@tokenctl/common/web/date-range.tsx';
import { DeleteButton, type Deletion } from '@tokenctl/common/web/deletion.tsx';
import { Facts } from '@tokenctl/common/web/detail.tsx';
import { ApiForm } from '@tokenctl/common/web/form.tsx';
import type { FormField, FormValues } from '@tokenctl/common/web/form-fields.ts';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { ButtonLink } from '@tokenctl/common/web/links.tsx';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import { seesEverything, type User, useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { SecretDialog } from '@tokenctl/common/web/secrets.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { breakable } from '@tokenctl/common/web/table.tsx';
import { isNever, Time } from '@tokenctl/common/web/times.tsx';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';

interface Token {
  readonly id: number;
  readonly description: string;
  readonly scope: string;
  readonly created: string;
  readonly modified: string;
  readonly expires: string;
  readonly application: number | null;
  readonly user: number | null;
  readonly token: string;
  readonly refresh_token: string | null;
  readonly summary_fields: {
    readonly application?: { readonly id: number; readonly name: string };
    readonly user?: { readonly id: number; readonly username: string };
  };
}

const DESCRIPTION: Column<Token> = {
  title: 'Description',
  orderBy: 'description',
  show: (token) => <Link to={`/tokens/${token.id}`}>{nameOfToken(token)}</Link>,
};

function nameOfToken({ id, description }: Pick<Token, 'id' | 'description'>): string {
  return description || `Token ${id}`;
}

const OWNER: Column<Token> = {
  title: 'User',
  orderBy: 'user__username',
  show: ({ summary_fields: { user } }) =>
    user === undefined ? '—' : <Link to={`/users/${user.id}/tokens`}>{user.username}</Link>,
};

const APPLICATION: Column<Token> = {
  title: 'Application',
  orderBy: 'application__name',
  show: ({ summary_fields: { application } }) =>
    application === undefined ? (
      'Personal'
    ) : (
      <Link to={`/applications/${application.id}`}>{application.name}</Link>
    ),
};

const CREATED: Column<Token> = {
  title: 'Created',
  orderBy: 'created',
  show: ({ created }) => <Time value={created} />,
};

const FACTS: readonly Column<Token>[] = [
  { title: 'Scope', orderBy: 'scope', show: ({ scope }) => scope },
  { title: 'Last used', orderBy: 'last_used', show: ({ id }) => <LastUse id={id} /> },
  { title: 'Expires', orderBy: 'expires', show: ({ expires }) => <Expiry value={expires} /> },
];

function Expiry({ value }: { value: string }): ReactNode {
  if (isNever(value)) return <span title={value}>Never</span>;
  const isExpired = Date.parse(value) < Date.now();
  return (
    <>
      <Time value={value} />{' '}
      {isExpired && (
        <Label isCompact status="warning">
          Expired
        </Label>
      )}
    </>
  );
}

const LastUses = createContext<ReadonlyMap<number, string>>(new Map());

function LastUse({ id }: { id: number }): ReactNode {
  return useContext(LastUses).get(id) ?? '';
}

const HOUR_MS = 3_600_000;

/** Reads when tokens were last used. The controller's API can only filter by it, so each period is queried. */
function LastUseOf({ ids, children }: { ids: readonly number[]; children: ReactNode }): ReactNode {
  const read = (filter: Readonly<Record<string, string>>) =>
    withQuery('/api/v2/tokens/', { id__in: ids.join(','), page_size: ids.length, ...filter });
  // Whole hours, so that the same list sends the same queries.
  const hours = Math.floor(Date.now() / HOUR_MS);
  const since = (days: number) => ({ last_used__gt: new Date((hours - days * 24) * HOUR_MS).toISOString() });
  const periods = [
    ['Never', useApi<Page<Token>>(read({ last_used__isnull: 'true' }))],
    ['Last 24 hours', useApi<Page<Token>>(read(since(1)))],
    ['Last 30 days', useApi<Page<Token>>(read(since(30)))],
  ] as const;
  const isKnown = periods.every(([, { data }]) => data !== undefined);
  const texts = new Map(ids.map((id) => [id, isKnown ? '30+ days ago' : '']));
  for (const [text, { data }] of periods.toReversed()) {
    for (const { id } of data?.results ?? []) texts.set(id, text);
  }
  return <LastUses value={texts}>{children}</LastUses>;
}

export function TokenList(props: {
  readonly path: string;
  /** Whether they belong to one user or one application, which every row would repeat. */
  readonly about: 'user' | 'application' | 'all';
  /** The page that creates one; undefined if this user cannot create one here. */
  readonly createAt?: string;
  /** The text above the list, such as why no token can be created. */
  readonly why?: ReactNode;
  /** Whether every user sees all of them. */
  readonly isWhole?: boolean;
}): ReactNode {
  const { path, about, createAt, why, isWhole = false } = props;
  const me = useMe();
  const isMine = about === 'all' ? !seesEverything(me) : about === 'user' && isWhole;
  const columns = [
    DESCRIPTION,
    ...(about === 'user' ? [] : [OWNER]),
    ...(about === 'application' ? [] : [APPLICATION]),
    // The list of all tokens has no space for it.
    ...(about === 'all' ? [] : [CREATED]),
    ...FACTS,
  ];
  return (
    <>
      {why !== undefined && <Alert isInline variant="info" component="p" title={why} />}
      <ResourceList<Token>
        name="tokens"
        path={path}
        columns={columns}
        order="-created"
        isWhole={isWhole}
        {...(isMine && {
          emptyTitle: 'You have no tokens yet',
          empty: 'With a token, a script or a program can use the API as you.',
        })}
        filters={[
          { name: 'description__icontains', label: 'Description' },
          ...(about === 'user' ? [] : [{ name: 'user__username__icontains', label: 'User' }]),
          ...(about === 'application'
            ? []
            : [{ name: 'application__name__icontains', label: 'Application' }]),
          { name: 'expires', label: 'Expires', range: EXPIRIES },
          { name: 'last_used__isnull', label: 'Never used', choices: YES_OR_NO },
          { name: 'scope', label: 'Scope', choices: SCOPES.map(([scope]) => [scope, scope] as const) },
        ]}
        actions={createAt !== undefined && <ButtonLink to={createAt}>Create token</ButtonLink>}
        around={(rows, table) => <LastUseOf ids={rows.map(({ id }) => id)}>{table}</LastUseOf>}
        deletion={revocationBy(me)}
        isDeletedInRow
      />
    </>
  );
}

function revocationBy(me: User): Deletion<Token> {
  return {
    noun: 'token',
    verb: 'Revoke',
    path: ({ id }) => `/api/v2/tokens/${id}/`,
    describe: (token) => {
      const { user } = token.summary_fields;
      return `${nameOfToken(token)} (${token.scope})${user === undefined ? '' : ` of ${user.username}`}`;
    },
    consequence: 'Programs that use it lose access immediately.',
    // Others than auditors see only revocable tokens: own ones, and those of their organizations' applications.
    mayDelete: ({ user, application }) =>
      me.is_superuser || !me.is_system_auditor || user === me.id || application !== null,
  };
}

const EXPIRIES: DateRange = {
  from: 'expires__gt',
  to: 'expires__lt',
  order: 'expires',
  presets: [
    ['Within 7 days', 0, 7],
    ['Within 30 days', 0, 30],
    ['Within 90 days', 0, 90],
    ['Expired', null, 0],
    ['Never', NEVER_DAYS, null],
  ],
};

const YES_OR_NO = [
  ['true', 'Yes'],
  ['false', 'No'],
] as const;

const SCOPES = [
  ['read', 'Read: view what you have access to'],
  ['write', 'Write: also make changes and launch jobs'],
] as const;

/** The form for a new token of the logged-in user. */
export function CreateToken(props: {
  /** The breadcrumbs: paths and names. */
  readonly above: readonly (readonly [string, string])[];
  readonly back: string;
  /** The application, if the page belongs to one. */
  readonly application?: { readonly id: number; readonly name: string };
}): ReactNode {
  const { above, back, application } = props;
  const navigate = useNavigate();
  const me = useMe();
  const [made, setMade] = useState<Token | null>(null);
  const fields = (values: FormValues): readonly FormField[] => [
    ...(application === undefined
      ? [
          {
            name: 'application',
            label: 'Application',
            kind: 'lookup',
            collection: '/api/v2/applications/',
            help: 'Leave it empty for a personal access token.',
          } as const,
        ]
      : []),
    { name: 'scope', label: 'Scope', kind: 'select', choices: SCOPES, required: true },
    { name: 'description', label: 'Description', help: 'What the token is for.' },
    ...(application === undefined && values['application'] === '' ? expiryFields(values) : []),
  ];
  return (
    <>
      <PageHeading title="Create token" above={above} />
      <PageSection>
        {me.external_account !== null && (
          <Alert isInline variant="info" component="p" title={EXTERNAL_HINT} />
        )}
        <ApiForm
          fields={fields}
          initial={{ application: '', scope: 'read', description: '', expires: '', date: '' }}
          submitLabel="Create token"
          onCancel={() => void navigate(back)}
          send={async ({ application: chosen, scope, description, ...end }) => {
            const id = application?.id ?? (chosen === '' ? null : Number(chosen));
            const expires = id === null ? expiryOf(end) : null;
            const body = { scope, description, application: id, ...(expires !== null && { expires }) };
            setMade(await callApi<Token>('/api/v2/tokens/', { method: 'POST', body }));
          }}
        >
          <Lifetime />
        </ApiForm>
      </PageSection>
      {made !== null && (
        <SecretDialog
          title="Token created"
          secrets={[
            ['Token', made.token],
            ...(made.refresh_token === null ? [] : [['Refresh token', made.refresh_token] as const]),
          ]}
          onClose={() => {
            setMade(null);
            void navigate(back);
          }}
        >
          {isNever(made.expires) ? (
            'It never expires.'
          ) : (
            <>
              It expires <Time value={made.expires} />.
            </>
          )}
        </SecretDialog>
      )}
    </>
  );
}

/** The expiry of a personal token: the maximum of the settings, some hours, or a day. */
function expiryFields({ expires }: FormValues): readonly FormField[] {
  return [
    {
      name: 'expires',
      label: 'Expires',
      kind: 'select',
      choices: EXPIRY_CHOICES,
      help: 'A token that expires soon is worth little to an attacker. The default lifetime is also the maximum.',
    },
    ...(expires === ON_DAY
      ? [{ name: 'date', label: 'Last day', kind: 'date', required: true } as const]
      : []),
  ];
}

const ON_DAY = 'day';

const EXPIRY_CHOICES = [
  ['', 'Default lifetime'],
  ['1', 'In 1 hour'],
  ['8', 'In 8 hours'],
  ['24', 'In 1 day'],
  ['168', 'In 7 days'],
  ['720', 'In 30 days'],
  ['2160', 'In 90 days'],
  [ON_DAY, 'At the end of a day …'],
] as const;

function expiryOf({ expires = '', date }: FormValues): string | null {
  if (expires === '') return null;
  const at =
    expires === ON_DAY ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(expires) * HOUR_MS);
  return at.toISOString();
}

/** The source of a new token's lifetime: a controller shows it only to users who see its settings. */
interface Lifetimes {
  readonly access_token_expire_seconds?: number;
  readonly OAUTH2_PROVIDER?: { readonly ACCESS_TOKEN_EXPIRE_SECONDS?: number };
}

/** When a token that is created now expires. */
function Lifetime(): ReactNode {
  const me = useMe();
  const configuration = useApi<Lifetimes>('/api/v2/config/');
  const isToldAll = configuration.data?.access_token_expire_seconds !== undefined;
  const settings = useApi<Lifetimes>('/api/v2/settings/authentication/', {
    enabled: configuration.data !== undefined && !isToldAll && seesEverything(me),
  });
  const seconds =
    configuration.data?.access_token_expire_seconds ??
    settings.data?.OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS;
  if (seconds === undefined) return null;
  const expires = new Date(Date.now() + seconds * 1000).toISOString();
  return (
    <p>
      By default, a new token{' '}
      {isNever(expires) ? (
        'never expires'
      ) : (
        <>
          expires <Time value={expires} />
        </>
      )}
      . An administrator can change the lifetime of new tokens in the{' '}
      {seesEverything(me) ? <Link to="/settings/authentication">settings</Link> : 'settings'}.
    </p>
  );
}

export const EXTERNAL_HINT =
  'Your account is from an identity provider. You can only create tokens if an administrator allows tokens for external users in the authentication settings.';

export function TokenPage(): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<Token>(`/api/v2/tokens/${id}/`);
  return (
    <Loaded query={query} isPage>
      {(token) => (
        <LastUseOf ids={[token.id]}>
          <TokenDetails token={token} />
        </LastUseOf>
      )}
    </Loaded>
  );
}

function TokenDetails({ token }: { token: Token }): ReactNode {
  const me = useMe();
  const navigate = useNavigate();
  const revocation = revocationBy(me);
  return (
    <>
      <PageHeading
        title={nameOfToken(token)}
        above={[['/tokens', 'Tokens']]}
        actions={
          revocation.mayDelete?.(token) && (
            <DeleteButton deletion={revocation} rows={[token]} onDone={() => void navigate('/tokens')} />
          )
        }
      />
      <PageSection>
        <Facts
          facts={[
            ['ID', String(token.id)],
            ...[DESCRIPTION_FACT, OWNER, APPLICATION, ...FACTS, CREATED].map(
              ({ title, show }) => [title, show(token)] as const,
            ),
            ['Last changed', <Time key="modified" value={token.modified} />],
          ]}
        />
      </PageSection>
    </>
  );
}

const DESCRIPTION_FACT: Column<Token> = {
  title: 'Description',
  show: ({ description }) => breakable(description),
};

export function Tokens(): ReactNode {
  const me = useMe();
  return (
    <>
      <PageHeading title="Tokens" />
      <PageSection>
        <TokenList path="/api/v2/tokens/" about="all" createAt={`/users/${me.id}/tokens/add`} />
      </PageSection>
    </>
  );
}
