/** Shared by resource pages: kinds of resources, their lists and details. */
import { Flex, PageSection } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { callApi, type Page, withQuery } from '@tokenctl/common/web/api.ts';
import { DeleteButton, type Deletion } from '@tokenctl/common/web/deletion.tsx';
import { Facts, LinkedTabs } from '@tokenctl/common/web/detail.tsx';
import type { FormField, FormValues } from '@tokenctl/common/web/form-fields.ts';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { ButtonLink } from '@tokenctl/common/web/links.tsx';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import type { Filter } from '@tokenctl/common/web/list-filters.tsx';
import { type User, useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { Time } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { Link, useNavigate, useParams } from 'react-router';

/** A related resource in a summary. */
export interface Named {
  readonly id: number;
  readonly name: string;
}

/** A link to a resource, given the URL of its list page. */
export function linkTo(path: string, named: Named | undefined): ReactNode {
  return named === undefined ? 'Deleted' : <Link to={`${path}/${named.id}`}>{named.name}</Link>;
}

/** The common facts of all resources. Users have a username, and no time of their last change. */
export interface Shown {
  readonly id: number;
  readonly name?: string;
  readonly username?: string;
  readonly description?: string;
  readonly created: string;
  readonly modified?: string;
  readonly summary_fields: {
    readonly organization?: Named;
    readonly inventory?: Named;
    readonly project?: Named;
    /** The roles for users and teams, by field. */
    readonly object_roles?: Readonly<
      Record<string, { readonly id: number; readonly name: string; readonly description: string }>
    >;
    readonly user_capabilities?: {
      readonly edit?: boolean;
      readonly delete?: boolean;
      readonly start?: boolean;
    };
  };
}

export interface Resource extends Shown {
  readonly name: string;
  readonly description: string;
  readonly modified: string;
}

export type Body = Readonly<Record<string, unknown>>;

/** A kind of resource, and what its pages show. */
export interface ResourceKind<T extends Shown> {
  /** The singular, such as "inventory". */
  readonly noun: string;
  readonly plural: string;
  readonly path: string;
  readonly api: string;
  /** The field with the name. By default `name`, together with a description. */
  readonly naming?: { readonly field: 'username'; readonly label: string };
  /** The maximum length of a name; by default 512. */
  readonly nameLength?: number;
  readonly columns: readonly Column<T>[];
  readonly filters?: readonly Filter[];
  /** The consequence of a deletion, as a sentence. */
  readonly consequence?: string;
  /** The facts after name and description in the details. */
  readonly facts: (resource: T) => readonly (readonly [string, ReactNode | undefined])[];
  /** The form's fields after name and description, for the current user. */
  readonly fields: (resource: T | undefined, me: User) => readonly FormField[];
  /** Field values that differ from the resource's own, or of a new resource if there is none. */
  readonly values?: (resource?: T) => FormValues;
  /** Further fields, which depend on the entered values. A name such as `inputs.username` is a part of a value. */
  readonly furtherFields?: (values: FormValues, resource?: T) => readonly FormField[];
  /** Adds what the API requires to the body of a new resource. */
  readonly complete?: (body: Body) => Body;
  /** Converts the body of every request, from the changed fields or all fields of a new resource. */
  readonly written?: (entered: Body) => Body;
  /** The collection for a new resource, if it differs. */
  readonly createAt?: (values: FormValues) => string;
  /** What a new resource shows once: names and values. */
  readonly secrets?: (made: T) => readonly (readonly [string, string])[];
  /** Whether this user may create one, if the user's own facts decide that. */
  readonly mayCreate?: (me: User) => boolean;
  /** The organizations in which this user may create one, if the collection itself accepts none. */
  readonly createIn?: (me: User) => string;
  readonly tabs?: readonly Tab<T>[];
  readonly rowActions?: (row: T) => ReactNode;
  /** Further buttons of the details, before the usual ones. */
  readonly actions?: (resource: T) => ReactNode;
  /** Wraps a list or a detail page, for example in further data. */
  readonly around?: (resources: readonly T[], content: ReactNode) => ReactNode;
  /** A notice at the top of each page of a resource. */
  readonly notice?: (resource: T) => ReactNode;
  /** The breadcrumbs of the resource; by default its list. */
  readonly above?: (resource: T) => readonly (readonly [string, string])[];
}

/** A tab next to the details: its path segment, its title, and its content. */
export type Tab<T extends Shown> = readonly [end: string, title: string, show: (resource: T) => ReactNode];

export function organizationOf({ summary_fields: { organization } }: Shown): ReactNode {
  return organization === undefined ? (
    '—'
  ) : (
    <Link to={`/organizations/${organization.id}`}>{organization.name}</Link>
  );
}

export const ORGANIZATION: Column<Shown> = {
  title: 'Organization',
  orderBy: 'organization__name',
  show: organizationOf,
};

export const ORGANIZATION_FIELD: FormField = {
  name: 'organization',
  label: 'Organization',
  kind: 'lookup',
  collection: '/api/v2/organizations/',
  required: true,
};

export function nameOf({ name, username = '' }: Shown): string {
  return name ?? username;
}

/** Whether this user may change a resource and its parts. */
export function mayEdit({ summary_fields: { user_capabilities: capabilities } }: Shown): boolean {
  return capabilities?.edit === true;
}

/** The tab with related resources of another kind. Its form sets the owner in the field with this name. */
export function tabWith<T extends Shown, Other extends Shown>(
  { api, noun }: Pick<ResourceKind<T>, 'api' | 'noun'>,
  kind: ResourceKind<Other>,
): Tab<T> {
  const end = kind.path.slice(1);
  // Every row would repeat the owner.
  const isOwner = (text: string) => text.toLowerCase() === noun;
  const columns = kind.columns.filter(({ title }) => !isOwner(title));
  const filters = kind.filters?.filter(({ label }) => !isOwner(label));
  return [
    end,
    kind.plural,
    (owner) => (
      <KindList
        kind={{ ...kind, columns, ...(filters && { filters }) }}
        api={`${api}${owner.id}/${end}/`}
        add={mayEdit(owner) ? `${kind.path}/add?${noun}=${owner.id}` : null}
      />
    ),
  ];
}

interface Options {
  readonly actions?: { readonly POST?: unknown };
}

/** Whether this user may create resources of a kind: by the collection's OPTIONS, or in an organization. */
function useMayCreate(props: Pick<ResourceKind<Shown>, 'api' | 'mayCreate' | 'createIn'>): boolean {
  const { api, mayCreate, createIn } = props;
  const me = useMe();
  const isOpen = !me.is_superuser && mayCreate === undefined;
  const options = useQuery({
    queryKey: ['options', api],
    queryFn: () => callApi<Options>(api, { method: 'OPTIONS' }),
    enabled: isOpen && createIn === undefined,
  });
  const organizations = useApi<Page<Named>>(withQuery(createIn?.(me) ?? '', { page_size: 1 }), {
    enabled: isOpen && createIn !== undefined,
  });
  if (mayCreate !== undefined) return mayCreate(me);
  if (me.is_superuser) return true;
  return options.data?.actions?.POST !== undefined || (organizations.data?.count ?? 0) > 0;
}

function deletionOf<T extends Shown>(kind: ResourceKind<T>): Deletion<T> {
  return {
    noun: kind.noun,
    plural: kind.plural.toLowerCase(),
    path: ({ id }) => `${kind.api}${id}/`,
    describe: nameOf,
    consequence: kind.consequence,
    mayDelete: ({ summary_fields }) => summary_fields.user_capabilities?.delete === true,
  };
}

const NAMED_FILTERS: readonly Filter[] = [
  { name: 'name__icontains', label: 'Name' },
  { name: 'description__icontains', label: 'Description' },
];

/** The table of a kind, also on another resource's page. */
function KindList<T extends Shown>(props: {
  readonly kind: ResourceKind<T>;
  readonly api?: string;
  /** The URL of the form for a new one; null for none. */
  readonly add?: string | null;
}): ReactNode {
  const { kind, api = kind.api, add = `${kind.path}/add` } = props;
  const mayCreate = useMayCreate(kind);
  const { naming, around, rowActions } = kind;
  const name: Column<T> = {
    title: naming?.label ?? 'Name',
    orderBy: naming?.field ?? 'name',
    show: (row) => <Link to={`${kind.path}/${row.id}`}>{nameOf(row)}</Link>,
  };
  return (
    <ResourceList<T>
      name={kind.plural.toLowerCase()}
      path={api}
      columns={[name, ...kind.columns]}
      order={naming?.field ?? 'name'}
      filters={[...(naming === undefined ? NAMED_FILTERS : []), ...(kind.filters ?? [])]}
      actions={mayCreate && add !== null && <ButtonLink to={add}>{`Create ${kind.noun}`}</ButtonLink>}
      deletion={deletionOf(kind)}
      // Another resource's page lists its parts, which are visible together with it.
      isWhole={api !== kind.api}
      rowActions={rowActions}
      around={around}
    />
  );
}

export function KindPage<T extends Shown>({ kind }: { kind: ResourceKind<T> }): ReactNode {
  return (
    <>
      <PageHeading title={kind.plural} />
      <PageSection>
        <KindList kind={kind} />
      </PageSection>
    </>
  );
}

export function ReadResource<T extends Shown>(props: {
  readonly kind: ResourceKind<T>;
  readonly children: (resource: T) => ReactNode;
}): ReactNode {
  const { kind, children } = props;
  const { id = '' } = useParams();
  const query = useApi<T>(`${kind.api}${id}/`);
  return (
    <Loaded query={query} isPage>
      {children}
    </Loaded>
  );
}

/** The heading and tabs of a resource, around the content of one. Without children, it shows the details. */
export function ResourcePage<T extends Shown>(props: {
  readonly kind: ResourceKind<T>;
  readonly children?: (resource: T) => ReactNode;
}): ReactNode {
  const { kind, children = (resource) => <Details kind={kind} resource={resource} /> } = props;
  const { tabs = [], around = (_resources, content) => content } = kind;
  return (
    <ReadResource kind={kind}>
      {(resource) => {
        const path = `${kind.path}/${resource.id}`;
        return around(
          [resource],
          <>
            <PageHeading
              title={nameOf(resource)}
              above={aboveOf(kind, resource)}
              actions={<Actions kind={kind} resource={resource} />}
            />
            {tabs.length > 0 && (
              <LinkedTabs
                label={`About ${nameOf(resource)}`}
                tabs={[[path, 'Details'], ...tabs.map(([end, title]) => [`${path}/${end}`, title] as const)]}
              />
            )}
            <PageSection>
              {kind.notice?.(resource)}
              {children(resource)}
            </PageSection>
          </>,
        );
      }}
    </ReadResource>
  );
}

export function aboveOf<T extends Shown>(
  kind: ResourceKind<T>,
  resource: T,
): readonly (readonly [string, string])[] {
  return kind.above?.(resource) ?? [[kind.path, kind.plural]];
}

export interface ShownResource<T extends Shown> {
  readonly kind: ResourceKind<T>;
  readonly resource: T;
}

function Actions<T extends Shown>({ kind, resource }: ShownResource<T>): ReactNode {
  const navigate = useNavigate();
  const { edit = false, delete: remove = false } = resource.summary_fields.user_capabilities ?? {};
  return (
    <Flex gap={{ default: 'gapSm' }}>
      {kind.actions?.(resource)}
      {edit && (
        <ButtonLink to={`${kind.path}/${resource.id}/edit`} variant="secondary">
          Edit
        </ButtonLink>
      )}
      {remove && (
        <DeleteButton
          deletion={deletionOf(kind)}
          rows={[resource]}
          onDone={() => void navigate(aboveOf(kind, resource).at(-1)?.[0] ?? kind.path)}
        />
      )}
    </Flex>
  );
}

function Details<T extends Shown>({ kind, resource }: ShownResource<T>): ReactNode {
  return (
    <Facts
      facts={[
        [kind.naming?.label ?? 'Name', nameOf(resource)],
        ['Description', resource.description],
        ...kind.facts(resource),
        ['Created', <Time key="created" value={resource.created} />],
        // For a user, the API shows the last login as the time of the last change.
        [
          'Last changed',
          kind.naming === undefined && resource.modified ? (
            <Time key="modified" value={resource.modified} />
          ) : undefined,
        ],
      ]}
    />
  );
}
