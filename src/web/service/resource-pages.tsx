/** What the pages of resources share: list, details, and the forms to create and change one. */
import { Flex, PageSection } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Link, useNavigate, useParams, useSearchParams } from 'react-router';
import { callApi, type Page } from '../shared/api.ts';
import { DeleteButton, type Deletion } from '../shared/deletion.tsx';
import { Facts, LinkedTabs } from '../shared/detail.tsx';
import { ApiForm, type FormField, type FormValues, REMOVED } from '../shared/form.tsx';
import { PageHeading } from '../shared/heading.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { type Column, ResourceList } from '../shared/list.tsx';
import type { Filter } from '../shared/list-filters.tsx';
import { useNotify } from '../shared/notices.tsx';
import { useApi, useMe } from '../shared/queries.ts';
import { Loaded } from '../shared/states.tsx';
import { Time } from '../shared/times.tsx';

/** A resource that the summary of another one names. */
export interface Named {
  readonly id: number;
  readonly name: string;
}

/** A resource as the API shows it. */
export interface Resource extends Named {
  readonly description: string;
  readonly created: string;
  readonly modified: string;
  readonly summary_fields: {
    readonly organization?: Named;
    readonly inventory?: Named;
    readonly project?: Named;
    readonly user_capabilities?: {
      readonly edit?: boolean;
      readonly delete?: boolean;
      readonly start?: boolean;
    };
  };
}

/** A kind of resource, and what its pages show of it. */
export interface ResourceKind<T extends Resource> {
  /** One of them, such as "inventory". */
  readonly noun: string;
  readonly plural: string;
  /** The address of the list page. */
  readonly path: string;
  /** The collection of the API. */
  readonly api: string;
  /** The columns after the name. */
  readonly columns: readonly Column<T>[];
  readonly filters?: readonly Filter[];
  /** What follows from a deletion, in a sentence. */
  readonly consequence?: string;
  /** What the details show after the description. */
  readonly facts: (resource: T) => readonly (readonly [string, ReactNode | undefined])[];
  /** The fields of the form after name and description. */
  readonly fields: (resource?: T) => readonly FormField[];
  /** Their values; of a new resource without one. */
  readonly values: (resource?: T) => FormValues;
  /** The fields after these, which depend on what was entered. A name such as `inputs.username` is a part of a value. */
  readonly furtherFields?: (values: FormValues, resource?: T) => readonly FormField[];
  /** The body for a new resource: adds what the API requires to what was entered. */
  readonly complete?: (body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Further tabs: the end of the address, and the title. */
  readonly tabs?: readonly (readonly [string, string])[];
  /** Buttons of the details before the usual ones. */
  readonly actions?: (resource: T) => ReactNode;
  /** Where the resource is among others, from the outside in; its list without it. */
  readonly above?: (resource: T) => readonly (readonly [string, string])[];
}

/** The column and the fact of the organization. */
export function organizationOf({ summary_fields: { organization } }: Resource): ReactNode {
  return organization === undefined ? (
    '—'
  ) : (
    <Link to={`/organizations/${organization.id}`}>{organization.name}</Link>
  );
}

/** The column of the organization. */
export const ORGANIZATION: Column<Resource> = {
  title: 'Organization',
  orderBy: 'organization__name',
  show: organizationOf,
};

/** The field for the organization. */
export const ORGANIZATION_FIELD: FormField = {
  name: 'organization',
  label: 'Organization',
  kind: 'lookup',
  collection: '/api/v2/organizations/',
  required: true,
};

/** Whether this user may create resources: a superuser, or an administrator of an organization. */
export function useMayCreate(): boolean {
  const me = useMe();
  const administered = useApi<Page<Named>>(`/api/v2/users/${me.id}/admin_of_organizations/?page_size=1`, {
    enabled: !me.is_superuser,
  });
  return me.is_superuser || (administered.data?.count ?? 0) > 0;
}

/** How resources of a kind are deleted. */
function deletionOf<T extends Resource>(kind: ResourceKind<T>): Deletion<T> {
  return {
    noun: kind.noun,
    plural: kind.plural.toLowerCase(),
    path: ({ id }) => `${kind.api}${id}/`,
    describe: ({ name }) => name,
    ...(kind.consequence !== undefined && { consequence: kind.consequence }),
    mayDelete: ({ summary_fields }) => summary_fields.user_capabilities?.delete === true,
  };
}

/** The table of a kind, also within the page of another resource. */
export function KindList<T extends Resource>({
  kind,
  api = kind.api,
  add = `${kind.path}/add`,
  rowActions,
}: {
  readonly kind: ResourceKind<T>;
  readonly api?: string;
  /** The address of the form for a new one; null for none. */
  readonly add?: string | null;
  readonly rowActions?: (row: T) => ReactNode;
}): ReactNode {
  const mayCreate = useMayCreate();
  const name: Column<T> = {
    title: 'Name',
    orderBy: 'name',
    show: (row) => <Link to={`${kind.path}/${row.id}`}>{row.name}</Link>,
  };
  return (
    <ResourceList<T>
      name={kind.plural.toLowerCase()}
      path={api}
      columns={[name, ...kind.columns]}
      order="name"
      filters={[
        { name: 'name__icontains', label: 'Name' },
        { name: 'description__icontains', label: 'Description' },
        ...(kind.filters ?? []),
      ]}
      actions={mayCreate && add !== null && <ButtonLink to={add}>{`Create ${kind.noun}`}</ButtonLink>}
      deletion={deletionOf(kind)}
      {...(rowActions && { rowActions })}
    />
  );
}

/** The list page of a kind. */
export function KindPage<T extends Resource>({
  kind,
  ...list
}: {
  readonly kind: ResourceKind<T>;
  readonly add?: string | null;
  readonly rowActions?: (row: T) => ReactNode;
}): ReactNode {
  return (
    <>
      <PageHeading title={kind.plural} />
      <PageSection>
        <KindList kind={kind} {...list} />
      </PageSection>
    </>
  );
}

/** Reads the resource that the address names. */
export function ReadResource<T extends Resource>({
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
export function ResourcePage<T extends Resource>({
  kind,
  children = (resource) => <Details kind={kind} resource={resource} />,
}: {
  readonly kind: ResourceKind<T>;
  readonly children?: (resource: T) => ReactNode;
}): ReactNode {
  const { tabs = [] } = kind;
  return (
    <ReadResource kind={kind}>
      {(resource) => {
        const path = `${kind.path}/${resource.id}`;
        return (
          <>
            <PageHeading
              title={resource.name}
              above={aboveOf(kind, resource)}
              actions={<Actions kind={kind} resource={resource} />}
            />
            {tabs.length > 0 && (
              <LinkedTabs
                label={`About ${resource.name}`}
                tabs={[[path, 'Details'], ...tabs.map(([end, title]) => [`${path}/${end}`, title] as const)]}
              />
            )}
            <PageSection>{children(resource)}</PageSection>
          </>
        );
      }}
    </ReadResource>
  );
}

function aboveOf<T extends Resource>(
  kind: ResourceKind<T>,
  resource: T,
): readonly (readonly [string, string])[] {
  return kind.above?.(resource) ?? [[kind.path, kind.plural]];
}

function Actions<T extends Resource>({
  kind,
  resource,
}: {
  readonly kind: ResourceKind<T>;
  readonly resource: T;
}): ReactNode {
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

function Details<T extends Resource>({
  kind,
  resource,
}: {
  readonly kind: ResourceKind<T>;
  readonly resource: T;
}): ReactNode {
  return (
    <Facts
      facts={[
        ['Name', resource.name],
        ['Description', resource.description],
        ...kind.facts(resource),
        ['Created', <Time key="created" value={resource.created} />],
        ['Last changed', <Time key="modified" value={resource.modified} />],
      ]}
    />
  );
}

function formOf<T extends Resource>(
  kind: ResourceKind<T>,
  resource?: T,
): { readonly fields: (values: FormValues) => readonly FormField[]; readonly initial: FormValues } {
  const first: readonly FormField[] = [
    { name: 'name', label: 'Name', required: true, maxLength: 512 },
    { name: 'description', label: 'Description' },
    ...kind.fields(resource),
  ];
  return {
    fields: (values) => [...first, ...(kind.furtherFields?.(values, resource) ?? [])],
    initial: {
      name: resource?.name ?? '',
      description: resource?.description ?? '',
      ...kind.values(resource),
    },
  };
}

/**
 * What was entered, as the API takes it: ids are numbers, and none is null. A part of a value, such as `inputs.username`,
 * goes into its value, beside the parts that the resource has before.
 */
function bodyOf(
  fields: readonly FormField[],
  { values, initial, before }: BodyParts,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const value = values[name] ?? '';
    const isChanged = value !== (initial[name] ?? '');
    const [key = '', part] = name.split('.');
    if (part !== undefined && isChanged) {
      body[key] ??= { ...(before?.[key as keyof Resource] as object | undefined) };
      (body[key] as Record<string, unknown>)[part] = value === REMOVED ? '' : value;
    } else if (part === undefined && (isChanged || before === undefined)) {
      body[name] = kind === 'lookup' ? idOf(value) : value;
    }
  }
  return body;
}

function idOf(value: string | boolean): number | null {
  return value === '' ? null : Number(value);
}

interface BodyParts {
  readonly values: FormValues;
  /** What the form began with. */
  readonly initial: FormValues;
  /** The resource, if it exists: only what was changed is sent, so that what another user changed meanwhile stays. */
  readonly before?: Resource;
}

/** The form for a new resource. Parameters of the address, such as `?inventory=1`, are its first values. */
export function AddResource<T extends Resource>({ kind }: { readonly kind: ResourceKind<T> }): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const [given] = useSearchParams();
  const { fields, initial } = formOf(kind);
  const known = [...given].filter(([name]) => name in initial);
  return (
    <>
      <PageHeading title={`Create ${kind.noun}`} above={[[kind.path, kind.plural]]} />
      <PageSection>
        <ApiForm
          fields={fields}
          initial={{ ...initial, ...Object.fromEntries(known) }}
          submitLabel={`Create ${kind.noun}`}
          onCancel={() => void navigate(kind.path)}
          send={async (values) => {
            const entered = bodyOf(fields(values), { values, initial });
            const body = kind.complete?.(entered) ?? entered;
            const { id, name } = await callApi<T>(kind.api, { method: 'POST', body });
            notify(`Created the ${kind.noun} ${name}.`);
            await navigate(`${kind.path}/${id}`, { replace: true });
          }}
        />
      </PageSection>
    </>
  );
}

/** The form for a resource that exists. */
export function EditResource<T extends Resource>({ kind }: { readonly kind: ResourceKind<T> }): ReactNode {
  return (
    <ReadResource kind={kind}>
      {(resource) => <EditForm key={resource.id} kind={kind} resource={resource} />}
    </ReadResource>
  );
}

function EditForm<T extends Resource>({
  kind,
  resource,
}: {
  readonly kind: ResourceKind<T>;
  readonly resource: T;
}): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const back = `${kind.path}/${resource.id}`;
  const { fields, initial } = formOf(kind, resource);
  return (
    <>
      <PageHeading
        title={`Edit ${resource.name}`}
        above={[...aboveOf(kind, resource), [back, resource.name]]}
      />
      <PageSection>
        <ApiForm
          fields={fields}
          initial={initial}
          submitLabel="Save"
          onCancel={() => void navigate(back)}
          send={async (values) => {
            const body = bodyOf(fields(values), { values, initial, before: resource });
            await callApi(`${kind.api}${resource.id}/`, { method: 'PATCH', body });
            notify(`Saved ${values['name']}.`);
            await navigate(back);
          }}
        />
      </PageSection>
    </>
  );
}
