/** Forms that the API validates: its messages appear below their fields. */

import {
  ActionGroup,
  Alert,
  Button,
  Checkbox,
  Form,
  FormGroup,
  FormHelperText,
  FormSection,
  HelperText,
  HelperTextItem,
  TextArea,
  TextInput,
} from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { ApiError, type Page, problemText, withQuery } from './api.ts';
import { Choice } from './choice.tsx';
import {
  type FormField,
  type FormValues,
  inWordsOfFields,
  isRequired,
  missingValues,
} from './form-fields.ts';
import { useNotify } from './notices.tsx';
import { useApi } from './queries.ts';
import { useWait } from './states.tsx';
import { unbroken } from './times.tsx';

/** The value of a field whose stored secret must be removed. No secret can have this value. */
export const REMOVED = '\u0000';

interface FormProps {
  readonly fields: readonly FormField[] | ((values: FormValues) => readonly FormField[]);
  readonly initial: FormValues;
  /** Sends the values. The form shows the messages of an ApiError. */
  readonly send: (values: FormValues) => Promise<void>;
  readonly submitLabel: string;
  readonly onCancel: () => void;
  /** Whether this user may send it; by default true. */
  readonly canSubmit?: boolean;
  /** Shown between the fields and the buttons. */
  readonly children?: ReactNode;
}

export function ApiForm(props: FormProps): ReactNode {
  const { initial, send, submitLabel, onCancel, canSubmit = true, children } = props;
  const queries = useQueryClient();
  const [values, setValues] = useState(initial);
  const fields = typeof props.fields === 'function' ? props.fields(values) : props.fields;
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const notify = useNotify();
  const wait = useWait(error);
  useEffect(() => {
    if (error !== null) showProblem(form.current);
  }, [error]);
  // Once the form is sent, the entered values are stored.
  const isChanged = useRef(false);
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (isChanged.current) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, []);

  async function submit(): Promise<void> {
    notify(null);
    const missing = missingValues(fields, values);
    if (missing !== null) return setError(missing);
    setBusy(true);
    setError(null);
    try {
      await send(values);
      isChanged.current = false;
      await queries.invalidateQueries();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(inWordsOfFields(problem, fields));
    } finally {
      setBusy(false);
    }
  }

  return (
    <Form
      ref={form}
      isWidthLimited
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy && wait === 0) void submit();
      }}
    >
      {error !== null && <FormProblem error={error} fields={fields} />}
      {sectionsOf(fields).map(([title, inSection]) => (
        <Section key={title} title={title}>
          {inSection.map((field) => (
            <Field
              key={field.name}
              field={field}
              value={values[field.name] ?? ''}
              values={values}
              problem={error?.fields[field.name]}
              onChange={(value) => {
                isChanged.current = true;
                setValues((before) => ({ ...before, [field.name]: value }));
              }}
            />
          ))}
        </Section>
      ))}
      {children}
      <ActionGroup className="form-actions">
        <Button type="submit" isLoading={isBusy} isDisabled={isBusy || !canSubmit || wait > 0}>
          {wait > 0 ? unbroken(`${submitLabel} (in ${wait} s)`) : submitLabel}
        </Button>
        <Button variant="link" onClick={onCancel}>
          Cancel
        </Button>
      </ActionGroup>
    </Form>
  );
}

/** Fields by heading, in order. Those without one are first. */
function sectionsOf(fields: readonly FormField[]): readonly (readonly [string, readonly FormField[]])[] {
  return Object.entries(Object.groupBy(fields, ({ section = '' }) => section)).map(
    ([title, inSection = []]) => [title, inSection] as const,
  );
}

function Section({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return title === '' ? (
    children
  ) : (
    <FormSection title={title} titleElement="h2">
      {children}
    </FormSection>
  );
}

/** Scrolls to the first field with a problem and focuses it, or else scrolls to the message above the fields. */
function showProblem(form: HTMLFormElement | null): void {
  const find = (selector: string) => form?.querySelector<HTMLElement>(selector);
  const field = find('[aria-invalid=true]') ?? find('[role=alert]');
  field?.focus({ preventScroll: true });
  field?.scrollIntoView({ block: 'center' });
}

/** The problems of the form as a whole, and messages about fields that it does not have. */
function FormProblem({ error, fields }: { error: ApiError; fields: readonly FormField[] }): ReactNode {
  const others = Object.entries(error.fields).filter(
    ([name]) => !fields.some((field) => field.name === name),
  );
  return (
    <Alert isInline variant="danger" component="p" title={problemText(error)} role="alert" tabIndex={-1}>
      {others.map(([name, message]) => (
        <p key={name}>
          {name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())}: {message}
        </p>
      ))}
    </Alert>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly value: string | boolean;
  /** Those of the whole form. */
  readonly values: FormValues;
  readonly problem: string | undefined;
  readonly onChange: (value: string | boolean) => void;
}

function Field(props: FieldProps): ReactNode {
  const { field, value, values, problem, onChange } = props;
  const { name, label, help, kind = 'text', isDisabled = false } = field;
  const id = `field-${name}`;
  const described = `${id}-help`;
  const messages = (
    <FormHelperText>
      <HelperText id={described} isLiveRegion>
        {problem !== undefined && <HelperTextItem variant="error">{problem}</HelperTextItem>}
        {help !== undefined && <HelperTextItem>{help}</HelperTextItem>}
      </HelperText>
      {!isDisabled && <ValueButton field={field} value={value} onChange={onChange} />}
    </FormHelperText>
  );
  if (kind === 'checkbox') {
    return (
      <FormGroup role="group" aria-label={label}>
        <Checkbox
          id={id}
          name={name}
          label={label}
          isChecked={value === true}
          isDisabled={isDisabled}
          isValid={problem === undefined}
          onChange={(_event, isChecked) => onChange(isChecked)}
          aria-describedby={described}
        />
        {messages}
      </FormGroup>
    );
  }
  return (
    <FormGroup label={label} fieldId={id} isRequired={isRequired(field, values)}>
      {value === REMOVED ? (
        <TextInput id={id} readOnlyVariant="default" value="Removed when the form is saved" />
      ) : (
        <Input {...props} id={id} described={described} />
      )}
      {messages}
    </FormGroup>
  );
}

/** A button that resets a field to its default, or removes a stored secret, or undoes that. */
function ValueButton({ field, value, onChange }: Pick<FieldProps, 'field' | 'value' | 'onChange'>) {
  const { label, standard, isStored = false } = field;
  const shown =
    value === REMOVED
      ? ({ text: 'Keep the stored value', next: '' } as const)
      : isStored
        ? ({ text: 'Remove the stored value', next: REMOVED } as const)
        : standard !== undefined && standard !== value
          ? ({ text: 'Reset to default', next: standard } as const)
          : null;
  if (shown === null) return null;
  return (
    <Button
      variant="link"
      isInline
      size="sm"
      aria-label={`${shown.text}: ${label}`}
      onClick={() => onChange(shown.next)}
    >
      {shown.text}
    </Button>
  );
}

function Input(props: FieldProps & { readonly id: string; readonly described: string }): ReactNode {
  const { field, value, values, problem, onChange, id, described } = props;
  const { name, kind = 'text', isDisabled = false, choices = [], maxLength } = field;
  const shared = {
    id,
    name,
    value: String(value),
    isRequired: isRequired(field, values),
    isDisabled,
    validated: problem === undefined ? ('default' as const) : ('error' as const),
    onChange,
    'aria-describedby': described,
    ...(maxLength !== undefined && { maxLength }),
  };
  const text = {
    ...shared,
    onChange: (_event: unknown, next: string) => onChange(next),
    // Read-only values must stay readable: a disabled field is too faint.
    ...(isDisabled && { isDisabled: false, readOnlyVariant: 'default' as const }),
  };
  switch (kind) {
    case 'textarea':
      return <TextArea {...text} resizeOrientation="vertical" autoResize />;
    case 'select':
      return <Choice {...shared} options={choices} />;
    case 'listed':
      return <Listed {...shared} field={field} values={values} />;
    case 'lookup':
      return <Lookup {...shared} field={field} />;
    case 'password':
      return <TextInput {...text} type="password" autoComplete="new-password" />;
    case 'number':
      return <TextInput {...text} inputMode="numeric" autoComplete="off" />;
    case 'date':
      return <TextInput {...text} type="date" />;
    default:
      return <TextInput {...text} type={kind === 'email' ? 'email' : 'text'} autoComplete="off" />;
  }
}

type InputProps = Omit<Parameters<typeof Choice<string>>[0], 'options'>;

/** The choice of no value; none if a value is required, and there is one. */
function noneOf({ isRequired, value }: InputProps): readonly [string, string][] {
  return isRequired && value !== '' ? [] : [['', isRequired ? 'Choose …' : 'None']];
}

/** A choice of texts that the API lists, such as the playbooks of the chosen project. */
function Listed({ field, values, ...input }: InputProps & { field: FormField; values: FormValues }) {
  const { listedAt, read = (answer) => answer as readonly string[] } = field;
  const path = listedAt?.(values) ?? null;
  const listed = useApi<unknown>(path ?? '', { enabled: path !== null });
  const found = path === null || listed.data === undefined ? [] : read(listed.data);
  const texts = input.value === '' || found.includes(input.value) ? found : [input.value, ...found];
  return <Choice {...input} options={[...noneOf(input), ...texts]} />;
}

const MAX_OPTIONS = 200;

/** A choice of a collection's resources. If there are more than fit into a menu, the user can search. */
function Lookup({ field, ...input }: InputProps & { field: FormField }): ReactNode {
  const { collection = '', listedIn = collection, shows = 'name', label } = field;
  const [text, setText] = useState('');
  const page = useApi<Page<Record<string, unknown>>>(
    withQuery(listedIn, { order_by: shows, page_size: MAX_OPTIONS, [`${shows}__icontains`]: text }),
    { keepPrevious: true },
  );
  const found = (page.data?.results ?? []).map((each): [string, string] => [
    String(each['id']),
    String(each[shows]),
  ]);
  const isMissing = input.value !== '' && !found.some(([id]) => id === input.value);
  // A value that is not among the first ones, or that this user may not see, is kept.
  const current = useApi<Record<string, unknown>>(`${collection}${input.value}/`, {
    enabled: isMissing && page.data !== undefined,
  });
  const missing: [string, string][] = isMissing
    ? [[input.value, String(current.data?.[shows] ?? `ID ${input.value}`)]]
    : [];
  const isLarge = (page.data?.count ?? 0) > MAX_OPTIONS || text !== '';
  return (
    <>
      {isLarge && (
        <TextInput
          type="search"
          aria-label={`Find ${label.toLowerCase()}`}
          placeholder="Find by name"
          value={text}
          onChange={(_event, value) => setText(value)}
        />
      )}
      <Choice {...input} options={[...noneOf(input), ...missing, ...found]} />
    </>
  );
}
