/** The flags of a command as check boxes: the console says which there are. */
import { Checkbox } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import type { FormChoice } from '../../console/command-line.ts';

/** What was chosen, by the members of the request. */
export type Choices = Readonly<Record<string, boolean>>;

/** A check box for each flag. What is not chosen is as `defaults` says. */
export function ChoiceFields(props: {
  readonly fields: readonly FormChoice[];
  readonly choices: Choices;
  readonly onChange: (choices: Choices) => void;
  readonly defaults?: Choices;
  /** The selection, by its member; a field that cannot be used with it is disabled. */
  readonly scope?: string;
  /** Why a flag is not possible at all, by its member. */
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

/** Whether a flag can be used with a selection. */
export function isPossible({ scopes }: FormChoice, scope: string | undefined): boolean {
  return scopes === null || scope === undefined || scopes.includes(scope);
}
