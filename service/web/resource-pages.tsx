/** What the pages of resources share: kinds of resources, their lists and details. */
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

/** A resource that the summary of another one names. */
export interface Named {
  readonly id: number;
  readonly name: string;
}

/** A link to a resource, by the address of its list page. */
export function linkTo(path: string, named: Named | undefined): ReactNode {
  return named === undefined ? 'Deleted' : <Link to={`${path}/${named.id}`}>{named.name}</Link>;
}

/** What the pages need to know of every resource. Users have a username, and nothing says when they were changed. */
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
    /** The roles that users and teams can have in it, by their fields. */
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

/** A resource as the API shows it. */
export interface Resource extends Shown {
  readonly name: string;
  readonly description: string;
  readonly modified: string;
}

export type Body = Readonly<Record<string, unknown>>;

/** A kind of resource, and what its pages show of it. */
export interface ResourceKind<T extends Shown> {
  /** One of them, such as "inventory". */
  readonly noun: string;
  readonly plural: string;
  /** The address of the list page. */
  readonly path: string;
  readonly api: string;
  /** What names one of them; `name` without it, which comes with a description. */
  readonly naming?: { readonly field: 'username'; readonly label: string };
  /** The greatest length of a name; 512 without it. */
  readonly nameLength?: number;
  readonly columns: readonly Column<T>[];
  readonly filters?: readonly Filter[];
  /** What follows from a deletion, in a sentence. */
  readonly consequence?: string;
  /** What the details show after the name and the description. */
  readonly facts: (resource: T) => readonly (readonly [string, ReactNode | undefined])[];
  /** The fields of the form after name and description, for the user who fills it in. */
  readonly fields: (resource: T | undefined, me: User) => readonly FormField[];
  /** Those of their values that are not simply those of the resource; of a new resource without one. */
  readonly values?: (resource?: T) => FormValues;
  /** The fields after these, which depend on what was entered. A name such as `inputs.username` is a part of a value. */
  readonly furtherFields?: (values: FormValues, resource?: T) => readonly FormField[];
  /** The body for a new resource: adds what the API requires to what was entered. */
  readonly complete?: (body: Body) => Body;
  /** The body of every request, made from the fields that were changed, or from all of a new resource. */
  readonly written?: (entered: Body) => Body;
  /** The collection for a new resource, if it is another one. */
  readonly createAt?: (values: FormValues) => string;
  /** What a new resource shows once: names and values. */
  readonly secrets?: (made: T) => readonly (readonly [string, string])[];
  /** Whether this user may create one, where it follows from what is known of the user. */
  readonly mayCreate?: (me: User) => boolean;
  /** The organizations in which this user may create one, where the collection itself takes none. */
  readonly createIn?: (me: User) => string;
  readonly tabs?: readonly Tab<T>[];
  readonly rowActions?: (row: T) => ReactNode;
  /** Buttons of the details before the usual ones. */
  readonly actions?: (resource: T) => ReactNode;
  /** What a list and the page of one are within, such as what else was read about them. */
  readonly around?: (resources: readonly T[], content: ReactNode) => ReactNode;
  /** What each page of a resource says first. */
  readonly notice?: (resource: T) => ReactNode;
  /** Where the resource is among others, from the outside in; its list without it. */
  readonly above?: (resource: T) => readonly (readonly [string, string])[];
}

/** A tab beside the details: the end of its address, its title, and what it shows. */
export type Tab<T extends Shown> = readonly [end: string, title: string, show: (resource: T) => ReactNode];

/** The column and the fact of the organization. */
export function organizationOf({ summary_fields: { organization } }: Shown): ReactNode {
  return organization === undefined ? (
    '—'
  ) : (
    <Link to={`/organizations/${organization.id}`}>{organization.name}</Link>
  );
}

/** The column of the organization. */
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

/** What a resource is called. */
export function nameOf({ name, username = '' }: Shown): string {
  return name ?? username;
}

/** Whether this user may change a resource, and what belongs to it. */
export function mayEdit({ summary_fields: { user_capabilities: capabilities } }: Shown): boolean {
  return capabilities?.edit === true;
}

/** The tab with the resources of another kind that belong to one of this kind. Its form names the owner in a field of this name. */
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

/** What OPTIONS says about new resources. */
interface Options {
  readonly actions?: { readonly POST?: unknown };
}

/** Whether this user may create resources of a kind: as OPTIONS of its collection says, or in an organization of `createIn`. */
function useMayCreate({
  api,
  mayCreate,
  createIn,
}: Pick<ResourceKind<Shown>, 'api' | 'mayCreate' | 'createIn'>): boolean {
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

/** The table of a kind, also within the page of another resource. */
function KindList<T extends Shown>({
  kind,
  api = kind.api,
  add = `${kind.path}/add`,
}: {
  readonly kind: ResourceKind<T>;
  readonly api?: string;
  /** The address of the form for a new one; null for none. */
  readonly add?: string | null;
}): ReactNode {
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
      // The page of another resource lists what belongs to it, which is visible with it.
      isWhole={api !== kind.api}
      rowActions={rowActions}
      around={around}
    />
  );
}

export function KindPage<T extends Shown>({ kind }: { readonly kind: ResourceKind<T> }): ReactNode {
  return (
    <>
      <PageHeading title={kind.plural} />
      <PageSection>
        <KindList kind={kind} />
      </PageSection>
    </>
  );
}

export function ReadResource<T extends Shown>({
  kind,
  children,
}: {
  readonly kind: ResourceKind<T>;
  readonly children: (resource: T) => ReactNode;
}): ReactNode {
  const { id = '' } = useParams();
  const query = useApi<T>(`${kind.api}${id}/`);
  return (
    <Loaded query={query} isPage>
      {children}
    </Loaded>
  );
}

/** The heading and the tabs of a resource, around one of them: the details without children. */
export function ResourcePage<T extends Shown>({
  kind,
  children = (resource) => <Details kind={kind} resource={resource} />,
}: {
  readonly kind: ResourceKind<T>;
  readonly children?: (resource: T) => ReactNode;
}): ReactNode {
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

/** Where a resource is among others. */
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
        // The API shows the last login of a user as the time of the last change.
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
