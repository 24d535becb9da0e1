/** Settings: miscellaneous authentication settings, and identity providers for single sign-on. */
import {
  Alert,
  Button,
  List,
  ListItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  PageSection,
} from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { callApi, type Page, withQuery } from '@tokenctl/common/web/api.ts';
import { Facts, LinkedTabs } from '@tokenctl/common/web/detail.tsx';
import { ApiForm } from '@tokenctl/common/web/form.tsx';
import type { FormField } from '@tokenctl/common/web/form-fields.ts';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { useNotify } from '@tokenctl/common/web/notices.tsx';
import { type User, useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { CopyText } from '@tokenctl/common/web/secrets.tsx';
import { Failed, Loading } from '@tokenctl/common/web/states.tsx';
import { type ReactNode, useState } from 'react';
import { Navigate, useNavigate, useParams } from 'react-router';
import {
  changesOf,
  formValues,
  readOnlyKeys,
  type SettingOptions,
  type Settings as SettingValues,
  settingFields,
} from './settings-fields.ts';

const MISCELLANEOUS = 'authentication';

const CATEGORIES: readonly (readonly [string, string])[] = [
  [MISCELLANEOUS, 'Miscellaneous Authentication'],
  ['google-oauth2', 'Google'],
  ['azuread-oauth2', 'Microsoft Entra ID'],
  ['oidc', 'OpenID Connect'],
  ['github', 'GitHub'],
  ['saml', 'SAML'],
];

/** The headings of the category in order, each with a pattern of its settings' names. */
const SECTIONS = [
  ['Login', /^(AUTH_BASIC|DISABLE_LOCAL|LOGIN_REDIRECT)/],
  ['Tokens', /^(OAUTH2|ALLOW_OAUTH2)/],
  ['Sessions', /^SESSION/],
  ['Local passwords', /^LOCAL_PASSWORD/],
  ['Single sign-on', /^SOCIAL_AUTH/],
  ['Other', /./],
] as const;

function sectionOf({ name }: FormField): string {
  return SECTIONS.find(([, names]) => names.test(name))?.[0] ?? '';
}

function inSections(fields: readonly FormField[]): readonly FormField[] {
  const placed = fields.map((field) => ({ ...field, section: sectionOf(field) }));
  return SECTIONS.flatMap(([title]) => placed.filter(({ section }) => section === title));
}

export function Settings(): ReactNode {
  const { category } = useParams();
  const options = useQuery({
    queryKey: ['options', category],
    queryFn: () => callApi<SettingOptions>(`/api/v2/settings/${category}/`, { method: 'OPTIONS' }),
    enabled: category !== undefined,
  });
  const values = useApi<SettingValues>(`/api/v2/settings/${category}/`, { enabled: category !== undefined });
  const [saved, setSaved] = useState(0);
  const title = CATEGORIES.find(([each]) => each === category)?.[1];
  if (title === undefined) return <Navigate to={`/settings/${MISCELLANEOUS}`} replace />;
  const error = options.error ?? values.error;
  return (
    <>
      <PageHeading title={`${title} settings`} />
      <LinkedTabs
        label="Settings categories"
        tabs={CATEGORIES.map(([each, name]) => [`/settings/${each}`, name] as const)}
      />
      <PageSection>
        {error !== null ? (
          <Failed error={error} />
        ) : options.data === undefined || values.data === undefined ? (
          <Loading reason={options.failureReason ?? values.failureReason} />
        ) : (
          <SettingsForm
            key={`${category} ${saved}`}
            category={category ?? ''}
            options={options.data}
            values={values.data}
            onSaved={() => setSaved(saved + 1)}
          />
        )}
      </PageSection>
    </>
  );
}

function SettingsForm(props: {
  readonly category: string;
  readonly options: SettingOptions;
  readonly values: SettingValues;
  readonly onSaved: () => void;
}): ReactNode {
  const { category, options, values, onSaved } = props;
  const me = useMe();
  const notify = useNotify();
  const navigate = useNavigate();
  const queries = useQueryClient();
  // The initial values of the form: a later read must not affect what counts as changed.
  const [before] = useState(values);
  const [question, setQuestion] = useState<Question | null>(null);
  const path = `/api/v2/settings/${category}/`;
  const all = settingFields(options, before);
  const fields = category === MISCELLANEOUS ? inSections(all) : all;
  const shown = readOnlyKeys(options).filter((key) => typeof before[key] === 'string' && before[key] !== '');
  return (
    <div className="settings">
      {!me.is_superuser && (
        <Alert isInline variant="info" component="p" title="Only superusers can change settings." />
      )}
      {shown.length > 0 && (
        <Facts
          isWide
          facts={shown.map((key) => {
            const label = options.actions.GET?.[key]?.label ?? key;
            return [label, <CopyText key={key} label={label} value={String(before[key])} />] as const;
          })}
        />
      )}
      <ApiForm
        fields={fields}
        initial={formValues(before)}
        submitLabel="Save"
        canSubmit={me.is_superuser}
        onCancel={() => void navigate('/')}
        send={async (next) => {
          const changes = changesOf(fields, before, next);
          if (Object.keys(changes).length === 0) return notify('No changes to save.', 'info');
          if (needsQuestion(changes)) {
            const answer = Promise.withResolvers<boolean>();
            setQuestion({ changes, answer: answer.resolve });
            const isConfirmed = await answer.promise;
            setQuestion(null);
            if (!isConfirmed) return;
          }
          const after = await callApi<SettingValues>(path, { method: 'PATCH', body: changes });
          queries.setQueryData([path], after);
          notify('Saved the settings.');
          onSaved();
        }}
      />
      {question !== null && <ConsequencesDialog {...question} />}
    </div>
  );
}

interface Question {
  readonly changes: Readonly<Record<string, unknown>>;
  readonly answer: (isConfirmed: boolean) => void;
}

function needsQuestion(changes: Readonly<Record<string, unknown>>): boolean {
  return changes['AUTH_BASIC_ENABLED'] === false || changes['DISABLE_LOCAL_AUTH'] === true;
}

/** Shows who loses access before a way to authenticate is turned off. */
function ConsequencesDialog({ changes, answer }: Question): ReactNode {
  const isLocalOff = changes['DISABLE_LOCAL_AUTH'] === true;
  const isBasicOff = changes['AUTH_BASIC_ENABLED'] === false;
  return (
    <Modal isOpen variant="small" onClose={() => answer(false)} aria-labelledby="consequences-title">
      <ModalHeader
        title="Disable an authentication method?"
        titleIconVariant="warning"
        labelId="consequences-title"
      />
      <ModalBody>
        <List>
          {isBasicOff && (
            <ListItem>
              Scripts and programs that send a user name and a password with each request will be rejected.
              Tokens and browser sessions keep working.
            </ListItem>
          )}
          {isLocalOff && <LocalAccounts />}
        </List>
      </ModalBody>
      <ModalFooter>
        <Button variant="danger" onClick={() => answer(true)}>
          Disable
        </Button>
        <Button variant="link" onClick={() => answer(false)}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}

const MAX_USERS = 200;
const MAX_NAMED = 10;

/** The users who can no longer log in without local accounts: those without an account at an identity provider. */
function LocalAccounts(): ReactNode {
  const me = useMe();
  const providers = useApi<Readonly<Record<string, unknown>>>('/api/v2/auth/');
  const read = useApi<Page<User>>(
    withQuery('/api/v2/users/', { page_size: MAX_USERS, order_by: 'username' }),
  );
  if (read.data === undefined) {
    return (
      <ListItem>{read.isError ? 'Failed to load users.' : 'Loading users with a local account …'}</ListItem>
    );
  }
  const { count, results } = read.data;
  const local = results.filter(({ external_account }) => external_account === null);
  const names = local.slice(0, MAX_NAMED).map(({ username }) => username);
  const others = local.length - names.length;
  const among =
    count > results.length ? ` of the first ${results.length} (there are ${count})` : ` of ${count}`;
  const isNone = providers.data !== undefined && Object.keys(providers.data).length === 0;
  return (
    <>
      {isNone && (
        <ListItem>
          The login page has no identity provider. Without another login method, such as LDAP on a controller,
          no one can log in after this change.
        </ListItem>
      )}
      <ListItem>
        {local.length}
        {among} users have only a local account, and cannot log in here or with basic authentication:{' '}
        {names.join(', ')}
        {others > 0 && ` and ${others} more`}. Their tokens keep working, and their sessions last until they
        expire. {me.external_account === null && <strong>You are one of them.</strong>}
      </ListItem>
    </>
  );
}
