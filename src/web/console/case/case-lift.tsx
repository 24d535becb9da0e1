/** The end of a case: its lift, the consequences for its users, and what a lift left. */
import { Button, Checkbox, Form, FormGroup, Radio } from '@patternfly/react-core';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { query, useFacts } from '../api.ts';
import { useBegin } from '../begin.tsx';
import { Failure, Message, When } from '../parts.tsx';
import { useSnapshot } from '../theft/stolen-token.tsx';
import { accountOf, type CaseProps, type CaseRead } from './case-stages.ts';
import { FoldedAccount } from './cleanings.tsx';

export function LiftForm({ read, place, isNext }: CaseProps & { isNext: boolean }): ReactNode {
  const { readOnly } = useFacts();
  const { incident } = read;
  const [account, setAccount] = useState(accountOf(read));
  const held = heldUsers(incident);
  const [keeps, setKeeps] = useState(keepsByDefault(incident));
  const [isAlone, setAlone] = useState(false);
  const others = useAlongside({ place, incident: incident.id }) ?? [];
  const begin = useBegin();
  if (readOnly) return <p>The console was started with --read-only.</p>;
  return (
    <Form
      className="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        const choice = held === null ? {} : { keepDeactivated: keeps };
        const alongside = isAlone ? [] : others.map((other) => other.incident);
        begin.mutate({
          kind: 'incident lift',
          place,
          incident: incident.id,
          alongside,
          ...choice,
          ...account,
        });
      }}
    >
      {held !== null && (
        <FormGroup role="radiogroup" label={held} fieldId="lift-keeps">
          <Radio
            id="lift-keeps"
            name="lift-access"
            label={staysText(incident)}
            description="Access can be restored later, on this page."
            isChecked={keeps}
            onChange={() => setKeeps(true)}
          />
          <Radio
            id="lift-gives"
            name="lift-access"
            label={incident.measures.deactivate ? 'gets access back' : 'gets the roles back'}
            isChecked={!keeps}
            onChange={() => setKeeps(false)}
          />
        </FormGroup>
      )}
      {held !== null && !keeps && <ActiveAgain incident={incident} />}
      {others.length > 0 && (
        <Checkbox
          id="lift-others"
          label={`Also close the lockdown of ${namesOf(others.flatMap(({ names }) => names))}`}
          description="Its users stay as that lockdown left them."
          isChecked={!isAlone}
          onChange={(_event, isChecked) => setAlone(!isChecked)}
        />
      )}
      <StillThere read={read} place={place} />
      <FoldedAccount account={account} onChange={setAccount} name="lift" />
      <details>
        <summary>What closing does</summary>
        Closing lifts the lockdown. {setBackText(read)} Revoked tokens are not restored. The plan comes first.
      </details>
      <Failure error={begin.error} />
      <div className="buttons">
        <Button
          type="submit"
          variant={isNext ? 'primary' : 'secondary'}
          isDisabled={begin.isPending}
          isLoading={begin.isPending}
        >
          Close the case…
        </Button>
      </div>
    </Form>
  );
}

/** The lockdowns of accounts of a case that can be closed with it; undefined until they are read. */
export function useAlongside(of: { readonly place: string; readonly incident: string }) {
  return useSnapshot(of)?.others.filter(({ isLocked }) => isLocked);
}

export function namesOf(names: readonly string[]): string {
  return names.length > MOST_NAMED
    ? `${numberText(names.length)} users`
    : new Intl.ListFormat('en').format(names);
}

/** An account with a new password may be restored; the choice of an earlier lift is kept. */
export function keepsByDefault({ state, keepsDeactivated, measures }: CaseRead['incident']): boolean {
  return state === 'lifting' ? keepsDeactivated : measures.resetPasswords !== true;
}

/** The single user that the lockdown deactivated without removing roles; null for another lockdown. */
export function oneHeld(incident: CaseRead['incident']): string | null {
  const [name, ...others] = heldNames(incident);
  const isOne = incident.measures.deactivate && !tookRoles(incident) && others.length === 0;
  return isOne ? (name ?? null) : null;
}

function heldNames({ scope, values }: CaseRead['incident']): readonly string[] {
  const users = values.filter(({ what }) => what === 'user').map(({ name }) => name);
  return users.length > 0 ? users : scope.kind === 'users' ? scope.names : [];
}

/** The users that a lift decides about, in words; null if none was deactivated and no role removed. */
function heldUsers(incident: CaseRead['incident']): string | null {
  const { measures } = incident;
  if (!measures.deactivate && measures.stripRoles !== true) return null;
  const names = heldNames(incident);
  const [name] = names;
  if (names.length === 1) return `The user ${name}`;
  return names.length === 0 || names.length > MOST_NAMED
    ? 'Each user in the lockdown'
    : `Each of the users ${names.join(', ')}`;
}

const MOST_NAMED = 10;

/** Whether the lockdown removed roles, as far as known: there may have been none. */
function tookRoles({ values, measures }: CaseRead['incident']): boolean {
  return values.length === 0 ? measures.stripRoles === true : values.some(({ what }) => what === 'role');
}

function staysText(incident: CaseRead['incident']): string {
  if (!incident.measures.deactivate) return 'does not get the removed roles back';
  return tookRoles(incident) ? 'stays deactivated, without the removed roles' : 'stays deactivated';
}

/** What a lift restores; unknown if the controller was not read. */
function setBackText({ incident, unread }: CaseRead): string {
  const { values, notSeen } = incident;
  const isRead = unread === null && notSeen === null;
  if (isRead && values.length === 0) return 'The lockdown changed no settings that need to be restored.';
  const hasSettings = !isRead || values.some(({ what }) => what === 'setting');
  const parts = [
    ...(hasSettings ? ['settings'] : []),
    ...(heldUsers(incident) === null ? [] : ['users as you choose']),
  ];
  return `It restores what the lockdown changed: ${parts.join(', and ')}.`;
}

/** The warning about what works again for users who get their access back. */
function ActiveAgain({
  incident: { measures, ends },
}: {
  incident: Pick<CaseRead['incident'], 'measures' | 'ends'>;
}): ReactNode {
  if (!measures.deactivate) return null;
  const until = (ends as Readonly<Record<string, string>>)['sessions'];
  return (
    <Message variant="warning" title="The lift activates the deactivated users again.">
      {measures.resetPasswords !== true &&
        'The old password works again because the lockdown did not reset it. It is only new if it was changed since. '}
      {until === undefined ? (
        'Earlier sessions may be accepted again. The plan shows until when, if that is known.'
      ) : (
        <>
          Earlier sessions may be accepted again until <When at={until} />.
        </>
      )}
    </Message>
  );
}

/** Restores what the lift of a closed case left. */
export function GiveBackForm({ read, place }: CaseProps): ReactNode {
  const { readOnly } = useFacts();
  const { id, stays, measures } = read.incident;
  const begin = useBegin();
  if (readOnly || stays.length === 0) return null;
  return (
    <div className="actions">
      <Button
        variant="secondary"
        isDisabled={begin.isPending}
        isLoading={begin.isPending}
        onClick={() =>
          begin.mutate({
            kind: 'incident lift',
            place,
            incident: id,
            keepDeactivated: false,
            ...accountOf(read),
          })
        }
      >
        Restore access…
      </Button>
      <span>
        The plan comes first.
        {measures.resetPasswords !== true &&
          ' The lockdown did not reset the password. Set a new one before you restore access.'}
      </span>
      <Failure error={begin.error} />
    </div>
  );
}

/** The link to the case that has the investigation of this account. */
export function PartOf({ place, incident }: { place: string; incident: string }): ReactNode {
  return (
    <p>
      The actions belong to the case{' '}
      <Link className="incident-id" to={query('/case', { place, incident })}>
        {incident}
      </Link>
      .
    </p>
  );
}

/** Warns about open items, which work again once the lockdown is lifted. */
function StillThere({ read, place }: CaseProps): ReactNode {
  const { left, open, investigations, theft } = read;
  const last = investigations.at(-1);
  const isGrave = open.some(({ fate }) => fate === 'remains' || fate === 'seen_again');
  return (
    <>
      {left !== null && (
        <Message
          variant="danger"
          title={`${countText(left.items.length, 'item was', 'items were')} left by a cleanup because that cannot be undone and was not confirmed`}
        >
          <ul>
            {left.items.map(({ item, summary }) => (
              <li key={item}>{summary}</li>
            ))}
          </ul>
          Clean them first: <a href="#cleaning">pick them</a> and confirm the second prompt.
        </Message>
      )}
      {last === undefined && theft.of !== undefined && <PartOf place={place} incident={theft.of} />}
      {last === undefined && theft.of === undefined && (
        <Message variant="warning" title="Not investigated: it is not known what the intruder created." />
      )}
      {last?.isOutdated && (
        <Message
          variant="warning"
          title="The last investigation is older than the last cleanup. Investigate again first."
        />
      )}
      {last !== undefined && open.length > 0 && (
        <Message
          variant={isGrave ? 'danger' : 'warning'}
          title={`Closing the case leaves ${countText(
            open.reduce((sum, { count }) => sum + count, 0),
            'item',
          )}`}
        >
          <dl className="left">
            {open.map(({ fate, what, count, named }) => (
              <div key={fate}>
                <dt>{what}:</dt>
                {named.map((text) => (
                  <dd key={text}>{text}</dd>
                ))}
                {count > named.length && <dd>and {count - named.length} more</dd>}
              </div>
            ))}
          </dl>
          {isGrave && <a href="#cleaning">Clean, resolve, reassign or mark them first</a>}
        </Message>
      )}
    </>
  );
}
