/** Which token was stolen: one that the lockdown found, another one by its id, or unknown. */

import { FormGroup } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { localText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import type { LockdownSnapshot } from '../../../console/case/lockdown-snapshot.ts';
import { type Json, query, useRead } from '../api.ts';
import { Remark, TextField } from '../fields.tsx';

/** The contents of a lockdown's snapshots. */
export function useSnapshot(of: { readonly place: string; readonly incident: string } | null) {
  return useRead<Json<LockdownSnapshot>>(of === null ? null : query('/api/case/snapshot', { ...of })).data;
}

type Tokens = NonNullable<Json<LockdownSnapshot>['tokens']>;

export function isTokenNumber(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}

const OTHER = 'other';

export function TokenField(props: {
  readonly place: string;
  readonly incident: string;
  /** As typed; empty if unknown. */
  readonly token: string;
  readonly onChange: (token: string) => void;
}): ReactNode {
  const { place, incident, token, onChange } = props;
  const { tokens, moreTokens = 0 } = useSnapshot({ place, incident }) ?? {};
  const [isOther, setOther] = useState(false);
  const known = tokens ?? [];
  const isListed = known.some(({ id }) => String(id) === token);
  const isTyped = isOther || (token !== '' && !isListed);
  const variant = token === '' || isTokenNumber(token) ? 'default' : 'error';
  return (
    <>
      <FormGroup label="The stolen token" fieldId="investigate-token">
        <Choice
          id="investigate-token"
          value={isTyped ? OTHER : token}
          options={[
            ['', 'Not known'],
            ...known.map((each) => [String(each.id), tokenText(each, known)] as const),
            [
              OTHER,
              moreTokens > 0
                ? `Another token: ${numberText(moreTokens)} more, by ID`
                : 'Another token, by ID',
            ],
          ]}
          onChange={(value) => {
            setOther(value === OTHER);
            onChange(value === OTHER ? '' : value);
          }}
        />
        <Remark>
          The incident did not start before this token was created. The owner's actions between the time below
          and then are listed separately, as the owner’s own work. All later actions are listed, because the
          entries name users, not tokens.
        </Remark>
      </FormGroup>
      {isTyped && (
        <TextField
          id="investigate-token-number"
          label="ID of the stolen token"
          inputMode="numeric"
          value={token}
          validated={variant}
          onChange={(text) => {
            setOther(true);
            onChange(text.trim());
          }}
        >
          <Remark isLiveRegion variant={variant}>
            {variant === 'default'
              ? 'The ID, as shown on the tokens page. Empty if not known.'
              : `“${token}” is not an ID. Enter the token's ID, such as 181, not its name, or select the token above.`}
          </Remark>
        </TextField>
      )}
    </>
  );
}

/** A token in one line, with its owner if there are several. */
function tokenText({ id, description, scope, created, application, owner }: Tokens[number], all: Tokens) {
  const isOfSeveral = new Set(all.map((each) => each.owner)).size > 1;
  return [
    `${id}: ${description === '' ? 'without a description' : `“${description}”`}`,
    `scope ${scope}`,
    ...(isOfSeveral && owner !== null ? [`of ${owner}`] : []),
    ...(application === null ? [] : [`of the application ${application}`]),
    `made ${localText(new Date(created))}`,
  ].join(', ');
}
