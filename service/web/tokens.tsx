/** The tokens of a user or of an application: list and creation. */
import { Alert, Label, PageSection } from '@patternfly/react-core';
import { callApi, type Page, withQuery } from '@tokenctl/common/web/api.ts';
import { ApiForm } from '@tokenctl/common/web/form.tsx';
import type { FormField } from '@tokenctl/common/web/form-fields.ts';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { ButtonLink } from '@tokenctl/common/web/links.tsx';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import { seesEverything, useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { SecretDialog } from '@tokenctl/common/web/secrets.tsx';
import { isNever, Time } from '@tokenctl/common/web/times.tsx';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { Link, useNavigate } from 'react-router';

/** A token as `/api/v2/tokens/` shows it. */
interface Token {
  readonly id: number;
  readonly description: string;
  readonly scope: string;
  readonly created: string;
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
  show: ({ description }) => description || '—',
};

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

function Expiry({ value }: { readonly value: string }): ReactNode {
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

function LastUse({ id }: { readonly id: number }): ReactNode {
  return useContext(LastUses).get(id) ?? '';
}

const HOUR_MS = 3_600_000;

/**
 * Reads when tokens were last used. The controller's API does not show it, but filters by it: so each period is asked
 * for.
 */
function LastUseOf({
  ids,
  children,
}: {
  readonly ids: readonly number[];
  readonly children: ReactNode;
}): ReactNode {
  const read = (filter: Readonly<Record<string, string>>) =>
    withQuery('/api/v2/tokens/', { id__in: ids.join(','), page_size: ids.length, ...filter });
  // Whole hours, so that the same list asks the same again.
  const hours = Math.floor(Date.now() / HOUR_MS);
  const since = (days: number) => ({ last_used__gt: new Date((hours - days * 24) * HOUR_MS).toISOString() });
  const periods = [
    ['Never', useApi<Page<Token>>(read({ last_used__isnull: 'true' }))],
    ['In the last day', useApi<Page<Token>>(read(since(1)))],
    ['In the last 30 days', useApi<Page<Token>>(read(since(30)))],
  ] as const;
  const isKnown = periods.every(([, { data }]) => data !== undefined);
  const texts = new Map(ids.map((id) => [id, isKnown ? 'More than 30 days ago' : '']));
  for (const [text, { data }] of periods.toReversed()) {
    for (const { id } of data?.results ?? []) texts.set(id, text);
  }
  return <LastUses value={texts}>{children}</LastUses>;
}

/** A list of tokens. */
export function TokenList({
  path,
  about,
  createAt,
  why,
  isWhole = false,
}: {
  readonly path: string;
  /** Whether they are those of one user or of one application, which every row would repeat. */
  readonly about: 'user' | 'application' | 'all';
  /** The page that creates one; undefined if this user cannot create one here. */
  readonly createAt?: string;
  /** The text above the list, such as why no token can be created. */
  readonly why?: ReactNode;
  /** Whether they are all that there are, for every user. */
  readonly isWhole?: boolean;
}): ReactNode {
  const me = useMe();
  const isMine = about === 'all' ? !seesEverything(me) : about === 'user' && isWhole;
  const columns = [
    DESCRIPTION,
    ...(about === 'user' ? [] : [OWNER]),
    ...(about === 'application' ? [] : [APPLICATION]),
    // The list of all tokens has no room for it.
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
          empty: 'With a token, a script or a program uses the API in your name.',
        })}
        filters={[
          { name: 'description__icontains', label: 'Description' },
          ...(about === 'user' ? [] : [{ name: 'user__username__icontains', label: 'User' }]),
          ...(about === 'application'
            ? []
            : [{ name: 'application__name__icontains', label: 'Application' }]),
          { name: 'expires__lt', label: 'Expires before' },
          { name: 'expires__gt', label: 'Expires after' },
          { name: 'last_used__isnull', label: 'Never used', choices: YES_OR_NO },
          { name: 'scope', label: 'Scope', choices: SCOPES.map(([scope]) => [scope, scope] as const) },
        ]}
        actions={createAt !== undefined && <ButtonLink to={createAt}>Create token</ButtonLink>}
        around={(rows, table) => <LastUseOf ids={rows.map(({ id }) => id)}>{table}</LastUseOf>}
        deletion={{
          noun: 'token',
          path: ({ id }) => `/api/v2/tokens/${id}/`,
          describe: ({ id, description, scope, summary_fields: { user } }) =>
            `${description || `Token ${id}`} (${scope})${user === undefined ? '' : ` of ${user.username}`}`,
          consequence: 'Programs lose this access at once.',
          // Who is no auditor sees only what may be deleted. Administrators of its organization may delete an application's token.
          mayDelete: ({ user, application }) =>
            me.is_superuser || !me.is_system_auditor || user === me.id || application !== null,
        }}
      />
    </>
  );
}

const YES_OR_NO = [
  ['true', 'Yes'],
  ['false', 'No'],
] as const;

const SCOPES = [
  ['read', 'Read: see what you may see'],
  ['write', 'Write: also change what you may change, and launch jobs'],
] as const;

/** The form for a new token of the user who is logged in. */
export function CreateToken({
  above,
  back,
  application,
}: {
  /** What the page belongs to: paths and names. */
  readonly above: readonly (readonly [string, string])[];
  /** The list to go to afterwards. */
  readonly back: string;
  /** The application, if the page belongs to one. */
  readonly application?: { readonly id: number; readonly name: string };
}): ReactNode {
  const navigate = useNavigate();
  const me = useMe();
  const [made, setMade] = useState<Token | null>(null);
  const fields: readonly FormField[] = [
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
    {
      name: 'description',
      label: 'Description',
      help: 'What the token is for, so that you recognize it later.',
    },
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
          initial={{ application: '', scope: 'read', description: '' }}
          submitLabel="Create token"
          onCancel={() => void navigate(back)}
          send={async ({ application: chosen, scope, description }) => {
            const id = application?.id ?? (chosen === '' ? null : Number(chosen));
            const body = { scope, description, application: id };
            setMade(await callApi<Token>('/api/v2/tokens/', { method: 'POST', body }));
          }}
        />
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

/** What a user of an identity provider is told about tokens. */
export const EXTERNAL_HINT =
  'Your account belongs to an identity provider. You can create tokens only if an administrator allows tokens for external users in the authentication settings.';

/** All tokens that the user may see. */
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
