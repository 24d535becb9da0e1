import { PageSection } from '@patternfly/react-core';
import { callApi } from '@tokenctl/common/web/api.ts';
import { ApiForm, REMOVED } from '@tokenctl/common/web/form.tsx';
import type { FormField, FormValues } from '@tokenctl/common/web/form-fields.ts';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { useNotify } from '@tokenctl/common/web/notices.tsx';
import { type User, useMe } from '@tokenctl/common/web/queries.ts';
import { SecretDialog } from '@tokenctl/common/web/secrets.tsx';
import { type ComponentType, type ReactNode, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import {
  aboveOf,
  KindPage,
  nameOf,
  ReadResource,
  type ResourceKind,
  ResourcePage,
  type Shown,
  type ShownResource,
} from './resource-pages.tsx';

function formOf<T extends Shown>(
  kind: ResourceKind<T>,
  me: User,
  resource?: T,
): { readonly fields: (values: FormValues) => readonly FormField[]; readonly initial: FormValues } {
  const first: readonly FormField[] = [
    ...(kind.naming === undefined ? namedFields(kind) : []),
    ...kind.fields(resource, me),
  ];
  return {
    fields: (values) => [...first, ...(kind.furtherFields?.(values, resource) ?? [])],
    initial: {
      ...Object.fromEntries(first.map((field) => [field.name, initialOf(field, resource)])),
      ...kind.values?.(resource),
    },
  };
}

function namedFields({ nameLength = 512 }: { nameLength?: number }): readonly FormField[] {
  return [
    { name: 'name', label: 'Name', required: true, maxLength: nameLength },
    { name: 'description', label: 'Description' },
  ];
}

/** The initial value of a field: the resource's, or the default of a new resource. */
export function initialOf(
  { name, kind, choices = [] }: FormField,
  resource: object | undefined,
): string | boolean {
  const value: unknown = resource?.[name as keyof typeof resource] ?? undefined;
  if (kind === 'checkbox') return value === true;
  if (value !== undefined) return String(value);
  return kind === 'number' ? '0' : (choices[0]?.[0] ?? '');
}

/** The entered values in the API's form. A part such as `inputs.username` is added to the resource's other parts. */
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
      body[key] ??= { ...(before?.[key as keyof Shown] as object | undefined) };
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
  readonly initial: FormValues;
  /** The resource, if it exists: only changed values are sent, so that another user's changes are kept. */
  readonly before?: Shown;
}

/** The form for a new resource. Parameters in the URL, such as `?inventory=1`, are its initial values. */
export function AddResource<T extends Shown>({ kind }: { kind: ResourceKind<T> }): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const [given] = useSearchParams();
  const me = useMe();
  const { fields, initial } = formOf(kind, me);
  const [made, setMade] = useState<T | null>(null);
  const known = [...given].filter(([name]) => name in initial);
  const show = ({ id }: T) => navigate(`${kind.path}/${id}`, { replace: true });
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
            const complete = kind.complete?.(entered) ?? entered;
            const body = kind.written?.(complete) ?? complete;
            const path = kind.createAt?.(values) ?? kind.api;
            const resource = await callApi<T>(path, { method: 'POST', body });
            notify(`Created the ${kind.noun} ${nameOf(resource)}.`);
            if ((kind.secrets?.(resource) ?? []).length > 0) setMade(resource);
            else await show(resource);
          }}
        />
      </PageSection>
      {made !== null && (
        <SecretDialog
          title={`${kind.noun[0]?.toUpperCase()}${kind.noun.slice(1)} created`}
          secrets={kind.secrets?.(made) ?? []}
          onClose={() => {
            setMade(null);
            void show(made);
          }}
        />
      )}
    </>
  );
}

export function EditResource<T extends Shown>({ kind }: { kind: ResourceKind<T> }): ReactNode {
  return (
    <ReadResource kind={kind}>
      {(resource) => <EditForm key={resource.id} kind={kind} resource={resource} />}
    </ReadResource>
  );
}

function EditForm<T extends Shown>({ kind, resource }: ShownResource<T>): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const me = useMe();
  // When the form was opened: later reads would make another user's changes look like entered values.
  const [before] = useState(resource);
  const back = `${kind.path}/${before.id}`;
  const { fields, initial } = formOf(kind, me, before);
  return (
    <>
      <PageHeading
        title={`Edit ${nameOf(before)}`}
        above={[...aboveOf(kind, before), [back, nameOf(before)]]}
      />
      <PageSection>
        <ApiForm
          fields={fields}
          initial={initial}
          submitLabel="Save"
          onCancel={() => void navigate(back)}
          send={async (values) => {
            const entered = bodyOf(fields(values), { values, initial, before });
            const body = kind.written?.(entered) ?? entered;
            await callApi(`${kind.api}${before.id}/`, { method: 'PATCH', body });
            notify(`Saved ${values[kind.naming?.field ?? 'name']}.`);
            await navigate(back);
          }}
        />
      </PageSection>
    </>
  );
}

/** The pages of a kind of resource: its list, the detail page with its tabs by path segment, and the forms. */
export interface KindPages {
  readonly list: ComponentType;
  readonly one: ComponentType;
  readonly tabs: Readonly<Record<string, ComponentType>>;
  readonly add: ComponentType;
  readonly edit: ComponentType;
}

/** The pages of a kind, with custom forms if given. */
export function pagesOf<T extends Shown>(
  kind: ResourceKind<T>,
  forms: Partial<Pick<KindPages, 'add' | 'edit'>> = {},
): KindPages {
  return {
    list: () => <KindPage kind={kind} />,
    one: () => <ResourcePage kind={kind} />,
    tabs: Object.fromEntries(
      (kind.tabs ?? []).map(([end, , show]) => [end, () => <ResourcePage kind={kind}>{show}</ResourcePage>]),
    ),
    add: () => <AddResource kind={kind} />,
    edit: () => <EditResource kind={kind} />,
    ...forms,
  };
}
