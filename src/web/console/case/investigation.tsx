/** An investigation without an incident: what a user, or the owner of a token, did. It is read-only. */

import { Button, Form, PageSection } from '@patternfly/react-core';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded, Loading } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { countText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { LooseInvestigations } from '../../../console/case/investigations.ts';
import { type Json, query, useAddress, useFacts, useRead } from '../api.ts';
import { ProblemAlert } from '../begin.tsx';
import { OwnCommand } from '../commands.tsx';
import { type ChosenPlace, PlaceNote, usePlace } from '../controller.tsx';
import { NameField, TextField } from '../fields.tsx';
import { Failure, Panel } from '../parts.tsx';
import type { InvestigationRead, Item } from './case-stages.ts';
import { ChainTree } from './case-tree.tsx';
import { FoundText, Limits, OwnersWork } from './found-text.tsx';
import { localValue, Made, Reading } from './investigate-form.tsx';
import { ITEM_COLUMNS, ItemDialog, StateLabel, StolenLabel } from './item-details.tsx';
import { useInvestigate } from './use-investigate.ts';

type Read = Json<LooseInvestigations>;

/** The refresh interval while an investigation is in progress. */
const AGAIN_MS = 2_000;
/** The default period of an investigation. */
const WEEK_MS = 7 * 86_400_000;
const MOST_ROWS = 200;

export function InvestigationPage(): ReactNode {
  const { places } = useFacts();
  const [search] = useAddress();
  const chosen = usePlace(search.get('place') ?? places[0] ?? '');
  const [user, token] = [search.get('user') ?? '', search.get('token') ?? ''];
  const whom = token === '' ? user : `the owner of token ${token}`;
  return (
    <>
      <PageHeading title={whom === '' ? 'Investigation' : `Investigation of ${whom}`} />
      <PageSection className="stacked">
        {chosen === null ? (
          <Loading />
        ) : (
          <>
            <p>
              <PlaceNote chosen={chosen} /> An investigation changes nothing. It shows what an account did,
              and what remains of it.
            </p>
            {whom === '' ? (
              <ChooseUser place={chosen.place} />
            ) : (
              <Subject key={`${chosen.place} ${user} ${token}`} chosen={chosen} user={user} token={token} />
            )}
          </>
        )}
      </PageSection>
    </>
  );
}

function ChooseUser({ place }: { place: string }): ReactNode {
  const [name, setName] = useState('');
  const [, change] = useAddress();
  return (
    <Form
      className="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        change({ user: name.trim() });
      }}
    >
      <NameField
        id="whom"
        label="User"
        kind="users"
        place={place}
        value={name}
        onChange={setName}
        isRequired
        isOne
      />
      <div className="buttons">
        <Button type="submit" isDisabled={name.trim() === ''}>
          Go on
        </Button>
      </div>
    </Form>
  );
}

interface SubjectProps {
  readonly chosen: ChosenPlace;
  readonly user: string;
  readonly token: string;
}

function Subject({ chosen, user, token }: SubjectProps): ReactNode {
  const [isWaiting, setWaiting] = useState(false);
  const { place } = chosen;
  const read = useRead<Read>(query('/api/investigations', { place, user, token }), isWaiting && AGAIN_MS);
  const isUnderway = read.data?.underway?.problem === null;
  if (isUnderway !== isWaiting) setWaiting(isUnderway);
  return (
    <Loaded query={read}>
      {({ underway, investigations, last }) => (
        <>
          <Panel label="Investigate" title="Investigate">
            {investigations.length > 0 && <Made investigations={investigations} />}
            <BeginForm
              {...{ place, user, token }}
              isUnderway={isUnderway}
              isFirst={last === null}
              problem={underway?.problem ?? null}
            />
          </Panel>
          {last !== null && <Found found={last} place={place} />}
        </>
      )}
    </Loaded>
  );
}

function BeginForm(props: {
  readonly place: string;
  readonly user: string;
  readonly token: string;
  readonly isUnderway: boolean;
  readonly isFirst: boolean;
  readonly problem: NonNullable<Read['underway']>['problem'];
}): ReactNode {
  const { place, user, token, isUnderway, isFirst, problem } = props;
  const [since, setSince] = useState(() => localValue(new Date(Date.now() - WEEK_MS)));
  const investigate = useInvestigate({ place });
  const isReady = !Number.isNaN(Date.parse(since));
  const isBusy = investigate.isPending || isUnderway;
  return (
    <Form
      className="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        const asked = token === '' ? { user } : { token: Number(token) };
        if (isReady && !isBusy) investigate.mutate({ since: new Date(since), asked });
      }}
    >
      <TextField
        id="since"
        label="Start, in your time zone"
        type="datetime-local"
        value={since}
        isRequired
        onChange={setSince}
      />
      <Failure error={investigate.error} />
      {investigate.error === null && problem !== null && <ProblemAlert problem={problem} />}
      <div className="buttons">
        <Button
          type="submit"
          variant={isFirst ? 'primary' : 'secondary'}
          isDisabled={!isReady || isBusy}
          isLoading={isBusy}
        >
          {isFirst ? 'Investigate' : 'Investigate again'}
        </Button>
      </div>
      {isBusy && <Reading />}
      {isReady && (
        <OwnCommand
          words={`incident investigate ${token === '' ? `--user ${user}` : `--token ${token}`} --since ${new Date(since).toISOString()}`}
          place={place}
        />
      )}
    </Form>
  );
}

function Found({ found, place }: { found: InvestigationRead; place: string }): ReactNode {
  const [shown, setShown] = useState<Item | null>(null);
  const { items, subject } = found;
  const users = subject.kind === 'user' ? [subject.name] : subject.kind === 'token' ? [subject.user] : [];
  return (
    <Panel label="Findings" title="Findings">
      <p>
        <FoundText found={found} />
      </p>
      <h3>Who made what</h3>
      <ChainTree
        found={found}
        active={shown?.id ?? null}
        onChoose={(id) => setShown(items.find((item) => item.id === id) ?? null)}
      />
      <h3>Items</h3>
      <PlainTable
        label="Investigation items"
        rows={items.slice(0, MOST_ROWS)}
        keyOf={({ id }) => id}
        columns={[
          ITEM_COLUMNS.risk,
          {
            title: 'What',
            show: (item) => (
              <>
                <Button variant="link" isInline onClick={() => setShown(item)}>
                  {item.summary}
                </Button>{' '}
                <StolenLabel item={item} />
              </>
            ),
          },
          ITEM_COLUMNS.by,
          ITEM_COLUMNS.when,
          { title: 'Now', show: (item) => <StateLabel item={item} /> },
        ]}
      />
      {items.length > MOST_ROWS && (
        <p>{countText(items.length - MOST_ROWS, 'more item')}: use the command for all of them.</p>
      )}
      <OwnersWork found={found} />
      <Limits found={found} />
      <p className="next">
        To remove what remains, lock down first:{' '}
        {users.map((user) => (
          <Link key={user} to={query('/incidents', { place, user })}>
            lock down {user}
          </Link>
        ))}
      </p>
      {shown !== null && <ItemDialog item={shown} onClose={() => setShown(null)} />}
    </Panel>
  );
}
