/** The flags of a command as check boxes: the console's server lists them. */
import { Checkbox } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import type { FormChoice } from '../../console/command-line.ts';

/** The choices, by member of the request. */
export type Choices = Readonly<Record<string, boolean>>;

/** A check box for each flag. Flags without a choice have their value from `defaults`. */
export function ChoiceFields(props: {
  readonly fields: readonly FormChoice[];
  readonly choices: Choices;
  readonly onChange: (choices: Choices) => void;
  readonly defaults?: Choices;
  /** The selection, by its member; fields that cannot be used with it are disabled. */
  readonly scope?: string;
  /** Why flags are impossible, by member. */
  readonly gaps?: Readonly<Record<string, ReactNode>>;
}): ReactNode {
  const { fields, choices, onChange, defaults = {}, scope, gaps = {} } = props;
  return fields.map((field) => {
    const { name, label } = field;
    const isUsable = isPossible(field, scope) && gaps[name] === undefined;
    return (
      <Checkbox
        key={name}
        id={name}
        label={label}
        description={gaps[name]}
        isChecked={isUsable && (choices[name] ?? defaults[name] ?? false)}
        isDisabled={!isUsable}
        onChange={(_event, value) => onChange({ ...choices, [name]: value })}
      />
    );
  });
}

export function isPossible({ scopes }: FormChoice, scope: string | undefined): boolean {
  return scopes === null || scope === undefined || scopes.includes(scope);
}
