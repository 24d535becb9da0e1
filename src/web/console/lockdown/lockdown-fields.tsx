/** The fields of a lockdown: whom it is about, when a theft began, and the file of a rescue token. */
import { FormGroup, FormHelperText, HelperText, HelperTextItem, TextInput } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import type { ReactNode } from 'react';
import { NameField } from '../name-field.tsx';
import { When } from '../parts.tsx';
import { type Draft, type KnownTheft, SCOPES } from './lockdown-draft.ts';

/** Whom it is about; of a theft, which was picked, when it began. */
export function Subject(
  props: Parameters<typeof WhoFields>[0] & { readonly theft: KnownTheft | undefined },
): ReactNode {
  const { theft, draft, set } = props;
  if (theft === undefined) return <WhoFields {...props} />;
  // What the thief made is part of a case that has it.
  if (theft.of !== undefined) return null;
  return <SinceField since={draft.since} made={theft.made} onChange={(since) => set({ since })} />;
}

/** Whom a lockdown is about. */
function WhoFields({
  place,
  draft: { scope, names, provider },
  set,
}: {
  readonly place: string;
  readonly draft: Draft;
  readonly set: (some: Partial<Draft>) => void;
}): ReactNode {
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
 * When a theft began. What was done is told from then on, and with a stolen token never from before it was made; from a
 * day before the lockdown on where no time is given.
 */
function SinceField(props: {
  readonly since: string;
  /** When the stolen token was made; null where it is not known. */
  readonly made: string | null;
  readonly onChange: (since: string) => void;
}): ReactNode {
  const { since, made, onChange } = props;
  const isBefore = made !== null && new Date(since).getTime() < Date.parse(made);
  const isYoung = made !== null && Date.parse(made) > Date.now() - DAY_MS;
  return (
    <FormGroup label="Start of the incident, if known" fieldId="theft-since">
      <TextInput
        id="theft-since"
        type="datetime-local"
        value={since}
        validated={isBefore ? 'warning' : 'default'}
        aria-describedby="theft-since-from"
        onChange={(_event, value) => onChange(value)}
      />
      {(since === '' || isBefore) && (
        <FormHelperText id="theft-since-from">
          <HelperText>
            <HelperTextItem variant={isBefore ? 'warning' : 'default'}>
              {isBefore ? (
                <>
                  Counted from <When at={made} />, when the token was created. If more than the token was
                  stolen, select the user without the token.
                </>
              ) : isYoung ? (
                <>
                  Otherwise from <When at={made} />, when the token was created.
                </>
              ) : (
                'Otherwise from one day before the lockdown. Earlier actions are not listed.'
              )}
            </HelperTextItem>
          </HelperText>
        </FormHelperText>
      )}
    </FormGroup>
  );
}

/** Where the token is kept that goes on once the password of the context stops working. */
export function RescueField(props: {
  readonly value: string;
  readonly onChange: (path: string) => void;
}): ReactNode {
  const { value, onChange } = props;
  return (
    <FormGroup label="New file for a rescue token, on the console's machine" fieldId="rescue-token">
      <TextInput
        id="rescue-token"
        value={value}
        placeholder="~/rescue.token"
        autoComplete="off"
        onChange={(_event, next) => onChange(next)}
      />
      <FormHelperText>
        <HelperText>
          <HelperTextItem>
            This context uses a password, which stops working. A token with scope write is created in this
            file first and used for the lockdown.
          </HelperTextItem>
        </HelperText>
      </FormHelperText>
    </FormGroup>
  );
}
