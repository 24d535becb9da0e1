import { FormSelect, FormSelectOption, type FormSelectProps } from '@patternfly/react-core';
import type { ReactNode } from 'react';

/** A menu to choose one of several texts: each alone, or with what it is called. */
export function Choice<Value extends string>({
  options,
  onChange,
  ...input
}: Omit<FormSelectProps, 'children' | 'onChange' | 'ref' | 'value'> & {
  readonly value: Value;
  readonly options: readonly (string | readonly [Value | '', string])[];
  readonly onChange: (value: Value) => void;
}): ReactNode {
  return (
    <FormSelect {...input} onChange={(_event, value) => onChange(value as Value)}>
      {options.map((option) => {
        const [value, label] = typeof option === 'string' ? [option, option] : option;
        return <FormSelectOption key={value} value={value} label={label} />;
      })}
    </FormSelect>
  );
}
