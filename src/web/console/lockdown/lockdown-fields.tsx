/** The fields of a lockdown: its subject, the start of a theft, and the file of a rescue token. */
import { FormGroup } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import type { ReactNode } from 'react';
import { NameField, Remark, TextField } from '../fields.tsx';
import { When } from '../parts.tsx';
import { type Draft, type KnownTheft, SCOPES } from './lockdown-draft.ts';

/** The subject; for a theft, whose account is chosen, its start. */
export function Subject(
  props: Parameters<typeof WhoFields>[0] & { readonly theft: KnownTheft | undefined },
): ReactNode {
  const { theft, draft, set } = props;
  if (theft === undefined) return <WhoFields {...props} />;
  // An account that the intruder created belongs to a case, which has the start.
  if (theft.of !== undefined) return null;
  return <SinceField since={draft.since} made={theft.made} onChange={(since) => set({ since })} />;
}

function WhoFields(props: {
  readonly place: string;
  readonly draft: Draft;
  readonly set: (some: Partial<Draft>) => void;
}): ReactNode {
  const { place, set } = props;
  const { scope, names, provider } = props.draft;
  return (
    <div className="pair">
      <FormGroup label="Who" fieldId="scope">
        <Choice id="scope" value={scope} options={SCOPES} onChange={(scope) => set({ scope })} />
      </FormGroup>
      {(scope === 'user' || scope === 'application') && (
        <NameField
          id="names"
          label="Names, separated by commas"
          kind={scope === 'user' ? 'users' : 'applications'}
          place={place}
          value={names}
          onChange={(names) => set({ names })}
          isRequired
        />
      )}
      {scope === 'identityProvider' && (
        <FormGroup label="Identity provider" fieldId="provider">
          <Choice
            id="provider"
            value={provider}
            options={['any', 'ldap', 'social', 'enterprise']}
            onChange={(provider) => set({ provider })}
          />
        </FormGroup>
      )}
    </div>
  );
}

const DAY_MS = 86_400_000;

/**
 * The start of a theft. Actions are shown from then on, and with a stolen token never from before its
 * creation; by default from a day before the lockdown.
 */
function SinceField(props: {
  readonly since: string;
  /** When the stolen token was created; null if unknown. */
  readonly made: string | null;
  readonly onChange: (since: string) => void;
}): ReactNode {
  const { since, made, onChange } = props;
  const isBefore = made !== null && new Date(since).getTime() < Date.parse(made);
  const isYoung = made !== null && Date.parse(made) > Date.now() - DAY_MS;
  return (
    <TextField
      id="theft-since"
      label="Start of the incident, if known"
      type="datetime-local"
      value={since}
      validated={isBefore ? 'warning' : 'default'}
      aria-describedby="theft-since-from"
      onChange={onChange}
    >
      {(since === '' || isBefore) && (
        <Remark id="theft-since-from" variant={isBefore ? 'warning' : 'default'}>
          {isBefore ? (
            <>
              Counted from <When at={made} />, when the token was created. If more than the token was stolen,
              select the user without the token.
            </>
          ) : isYoung ? (
            <>
              Otherwise from <When at={made} />, when the token was created.
            </>
          ) : (
            'Otherwise from one day before the lockdown. Earlier actions are not listed.'
          )}
        </Remark>
      )}
    </TextField>
  );
}

/** The file of the token that continues to work when the context's password does not. */
export function RescueField(props: {
  readonly value: string;
  readonly onChange: (path: string) => void;
}): ReactNode {
  const { value, onChange } = props;
  return (
    <TextField
      id="rescue-token"
      label="New file for a rescue token, on the console's machine"
      value={value}
      placeholder="~/rescue.token"
      autoComplete="off"
      onChange={onChange}
    >
      <Remark>
        This context uses a password, which stops working. A token with scope write is created in this file
        first and used for the lockdown.
      </Remark>
    </TextField>
  );
}
