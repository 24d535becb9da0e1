import {
  FormSelect,
  FormSelectOption,
  type FormSelectProps,
  MenuToggle,
  Select,
  SelectList,
  SelectOption,
} from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';

/** A menu to choose one of several texts, each optionally with a label. */
export function Choice<Value extends string>(
  props: Omit<FormSelectProps, 'children' | 'onChange' | 'ref' | 'value'> & {
    readonly value: Value;
    readonly options: readonly (string | readonly [Value | '', string])[];
    readonly onChange: (value: Value) => void;
  },
): ReactNode {
  const { options, onChange, ...input } = props;
  return (
    <FormSelect {...input} onChange={(_event, value) => onChange(value as Value)}>
      {options.map((option) => {
        const [value, label] = typeof option === 'string' ? [option, option] : option;
        return <FormSelectOption key={value} value={value} label={label} />;
      })}
    </FormSelect>
  );
}

/** The same in a toolbar: a menu with a button. */
export function MenuChoice(props: {
  label: string;
  value: string;
  choices: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}): ReactNode {
  const { label, value, choices, onChange } = props;
  const [isOpen, setOpen] = useState(false);
  const shown = choices.find(([each]) => each === value)?.[1] ?? value;
  return (
    <Select
      isOpen={isOpen}
      onOpenChange={setOpen}
      selected={value}
      onSelect={(_event, next) => {
        onChange(String(next));
        setOpen(false);
      }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          aria-label={`${label}: ${shown}`}
          isExpanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {shown}
        </MenuToggle>
      )}
    >
      <SelectList aria-label={label}>
        {choices.map(([each, text]) => (
          <SelectOption key={each} value={each}>
            {text}
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  );
}
