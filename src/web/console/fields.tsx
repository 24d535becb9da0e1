/** The fields of forms: texts, and names of users or applications, with suggestions from the controller. */
import {
  FormGroup,
  FormHelperText,
  HelperText,
  HelperTextItem,
  type HelperTextItemProps,
  TextInput,
  type TextInputProps,
} from '@patternfly/react-core';
import { type ReactNode, useDeferredValue } from 'react';
import { query, useRead } from './api.ts';

/** A text under its label; its children are shown below it. */
export function TextField(
  props: Omit<TextInputProps, 'id' | 'label' | 'onChange' | 'ref'> & {
    readonly id: string;
    readonly label: string;
    readonly onChange: (text: string) => void;
  },
): ReactNode {
  const { label, onChange, children, ...input } = props;
  return (
    <FormGroup label={label} fieldId={input.id} isRequired={input.isRequired}>
      <TextInput {...input} onChange={(_event, text) => onChange(text)} />
      {children}
    </FormGroup>
  );
}

/** What is said about a field, below it. */
export function Remark(props: {
  readonly id?: string;
  readonly variant?: HelperTextItemProps['variant'];
  readonly isLiveRegion?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const { id, variant, isLiveRegion, children } = props;
  return (
    <FormHelperText id={id}>
      <HelperText isLiveRegion={isLiveRegion}>
        <HelperTextItem variant={variant}>{children}</HelperTextItem>
      </HelperText>
    </FormHelperText>
  );
}

/** One name, or several separated by commas. */
export function NameField(props: {
  readonly id: string;
  readonly label: string;
  readonly kind: 'users' | 'applications';
  /** The context for the suggestions. */
  readonly place: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isRequired?: boolean;
  /** Whether it takes only one name, which may contain a comma. */
  readonly isOne?: boolean;
}): ReactNode {
  const { id, label, kind, place, value, onChange, isRequired = false, isOne = false } = props;
  const comma = isOne ? -1 : value.lastIndexOf(',');
  // The text before the last comma is kept in front of each suggestion.
  const before = comma < 0 ? '' : `${value.slice(0, comma + 1)} `;
  const typed = useDeferredValue(value.slice(comma + 1).trim());
  const read = useRead<{ readonly names: readonly string[] }>(
    typed === '' && value !== '' ? null : query('/api/names', { place, kind, text: typed }),
  );
  const names = read.data?.names ?? [];
  return (
    <FormGroup label={label} fieldId={id} isRequired={isRequired}>
      <TextInput
        id={id}
        list={`${id}-names`}
        value={value}
        autoComplete="off"
        onChange={(_event, next) => onChange(next)}
      />
      <datalist id={`${id}-names`}>
        {names.map((name) => (
          <option key={name} value={`${before}${name}`} />
        ))}
      </datalist>
    </FormGroup>
  );
}
