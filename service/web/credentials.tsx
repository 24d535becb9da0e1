/** Credentials. A controller's have a type, whose inputs are fields of the form; the service's have none. */
import { List, ListItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { callApi, type Page, withQuery } from '@tokenctl/common/web/api.ts';
import type { FormField } from '@tokenctl/common/web/form-fields.ts';
import { useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import type { ReactNode } from 'react';
import { ACCESS } from './access.tsx';
import { AddResource, EditResource, pagesOf } from './resource-forms.tsx';
import {
  type Named,
  ORGANIZATION,
  ORGANIZATION_FIELD,
  organizationOf,
  ReadResource,
  type Resource,
  type ResourceKind,
} from './resource-pages.tsx';

interface Credential extends Resource {
  readonly organization: number | null;
  /** Only on a controller. */
  readonly credential_type?: number;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly summary_fields: Resource['summary_fields'] & { readonly credential_type?: Named };
}

/** A controller's type of credentials. */
interface CredentialType extends Named {
  readonly inputs: { readonly fields?: readonly Input[] };
}

interface Input {
  readonly id: string;
  readonly label: string;
  readonly type?: string;
  readonly help_text?: string;
  readonly secret?: boolean;
  readonly multiline?: boolean;
  readonly choices?: readonly string[];
}

/** Shown by the API instead of a secret. */
const MASK = '$encrypted$';

const API = '/api/v2/credentials/';
const TYPES = '/api/v2/credential_types/';

/** The kind of resource: with the existing types in forms, or without types if credentials have none. */
function kindOf(types: readonly CredentialType[]): ResourceKind<Credential> {
  return {
    noun: 'credential',
    plural: 'Credentials',
    path: '/credentials',
    api: API,
    columns: [ORGANIZATION, { title: 'Description', show: ({ description }) => description }],
    filters: [{ name: 'organization__name__icontains', label: 'Organization' }],
    facts: (credential) => [
      ['Organization', organizationOf(credential)],
      ['Type', credential.summary_fields.credential_type?.name],
      ['Inputs', credential.inputs && <Inputs key="inputs" inputs={credential.inputs} />],
    ],
    fields: (credential) => [
      {
        ...ORGANIZATION_FIELD,
        required: false,
        ...(types.length > 0 &&
          credential === undefined && { help: 'Without an organization, the credential is private to you.' }),
      },
      ...(types.length === 0
        ? []
        : [
            {
              name: 'credential_type',
              label: 'Type',
              kind: 'lookup',
              collection: TYPES,
              required: credential === undefined,
              isDisabled: credential !== undefined,
              help: 'It cannot be changed later.',
            } as const,
          ]),
    ],
    values: (credential) =>
      Object.fromEntries(
        Object.entries(credential?.inputs ?? {}).map(([id, value]) => [
          `inputs.${id}`,
          typeof value === 'boolean' ? value : value === MASK ? '' : String(value),
        ]),
      ),
    tabs: [ACCESS],
    furtherFields: ({ credential_type: chosen }, credential) => {
      const type = types.find(({ id }) => String(id) === chosen);
      return (type?.inputs.fields ?? []).map((input) => fieldOf(input, credential?.inputs));
    },
  };
}

/** The field of an input. The API decides which inputs are required: jobs may prompt for some of them. */
function fieldOf(input: Input, stored: Credential['inputs'] = {}): FormField {
  const { id, label, type, help_text: help, secret = false, multiline = false, choices } = input;
  const isStored = stored[id] === MASK;
  const kept = isStored ? 'Stored and never shown. Leave empty to keep the stored value.' : '';
  const texts = [help ?? '', kept].filter((text) => text !== '').join(' ');
  return {
    name: `inputs.${id}`,
    label,
    kind: kindOfInput({ type, secret, multiline, choices }),
    choices: choices && ['', ...choices].map((choice) => [choice, choice || 'None'] as const),
    ...(texts !== '' && { help: texts }),
    isStored,
  };
}

function kindOfInput(input: Pick<Input, 'type' | 'secret' | 'multiline' | 'choices'>) {
  if (input.type === 'boolean') return 'checkbox';
  if (input.choices !== undefined) return 'select';
  if (input.multiline) return 'textarea';
  return input.secret ? 'password' : 'text';
}

function Inputs({ inputs }: { inputs: Readonly<Record<string, unknown>> }): ReactNode {
  const entries = Object.entries(inputs);
  if (entries.length === 0) return 'None';
  return (
    <List isPlain>
      {entries.map(([id, value]) => (
        <ListItem key={id}>
          {id}: {value === MASK ? 'stored, and never shown' : String(value)}
        </ListItem>
      ))}
    </List>
  );
}

const PLAIN = kindOf([]);

function AddCredential(): ReactNode {
  const me = useMe();
  const options = useQuery({
    queryKey: ['options', API],
    queryFn: () => callApi<Options>(API, { method: 'OPTIONS' }),
  });
  return (
    <Loaded query={options} isPage>
      {({ actions }) => (
        <WithTypes isTyped={actions.POST?.['credential_type'] !== undefined}>
          {(types) => <AddResource kind={types.length === 0 ? PLAIN : ownedBy(me.id, kindOf(types))} />}
        </WithTypes>
      )}
    </Loaded>
  );
}

/** A controller requires the user of a credential without an organization. */
function ownedBy(user: number, kind: ResourceKind<Credential>): ResourceKind<Credential> {
  return { ...kind, complete: (body) => (body['organization'] === null ? { ...body, user } : body) };
}

interface Options {
  readonly actions: { readonly POST?: Readonly<Record<string, unknown>> };
}

function EditCredential(): ReactNode {
  return (
    <ReadResource kind={PLAIN}>
      {({ credential_type }) => (
        <WithTypes isTyped={credential_type !== undefined}>
          {(types) => <EditResource kind={kindOf(types)} />}
        </WithTypes>
      )}
    </ReadResource>
  );
}

const MAX_TYPES = 200;

/** Reads the types of credentials, if they have types. */
function WithTypes(props: {
  readonly isTyped: boolean;
  readonly children: (types: readonly CredentialType[]) => ReactNode;
}): ReactNode {
  const { isTyped, children } = props;
  const query = useApi<Page<CredentialType>>(withQuery(TYPES, { page_size: MAX_TYPES, order_by: 'name' }), {
    enabled: isTyped,
  });
  return isTyped ? <Loaded query={query}>{({ results }) => children(results)}</Loaded> : children([]);
}

export const CREDENTIALS = pagesOf(PLAIN, { add: AddCredential, edit: EditCredential });
