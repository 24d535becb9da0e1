import {
  Button,
  DescriptionList,
  Label,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
} from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { CommandLine } from '../commands.tsx';
import { TextFacts } from '../document.tsx';
import { Fact, Severity, When, WithTimes } from '../parts.tsx';
import type { Item } from './case-stages.ts';

const COLORS = { bad: 'red', warning: 'orange', faint: 'grey', good: 'green', strong: 'blue' } as const;

/** The current state of an item, and its marks. */
export function StateLabel({
  item: { label, fate },
  isShort = false,
}: {
  item: Item;
  /** For a narrow column: {@link SeenAgain} is shown elsewhere. */
  isShort?: boolean;
}): ReactNode {
  const { text, tone, more } = label;
  return (
    <span className="labels inline">
      <Label color={COLORS[tone]}>{text}</Label>
      {more !== null && !(isShort && fate === 'seen_again') && (
        <span className="hint">
          <WithTimes text={more} />
        </span>
      )}
    </span>
  );
}

/** An item's mark, next to what the next investigation found. */
export function SeenAgain({ item: { fate, label } }: { item: Item }): ReactNode {
  return fate === 'seen_again' && label.more !== null && <WithTimes text={label.more} />;
}

/** Distinguishes the stolen token from what was done with it. */
export function StolenLabel({ item }: { item: Pick<Item, 'isStolen'> }): ReactNode {
  return item.isStolen && <Label color="purple">the stolen token, created here</Label>;
}

/** A link to an object at its controller, with what opens there. */
function ObjectLink({ page: { href, opens } }: { page: NonNullable<Item['page']> }): ReactNode {
  return (
    <>
      <a href={href} target="_blank" rel="noreferrer">
        {opens === 'web' ? 'Open its page in the web interface' : 'Open it in the REST API'}
      </a>{' '}
      {opens === 'web'
        ? '(a new tab; you log in there yourself).'
        : '(a new tab; log in to the controller in this browser first).'}
    </>
  );
}

function ItemDetails({ item }: { item: Item }): ReactNode {
  const { id, risk, stateReason, facts, remedy, notCleanable, page } = item;
  return (
    <DescriptionList
      isCompact
      orientation={{ sm: 'horizontal' }}
      horizontalTermWidthModifier={{ default: '8rem', sm: '8rem' }}
    >
      <Fact term="Now">
        <StateLabel item={item} /> {stateReason !== null && <WithTimes text={stateReason} />}
      </Fact>
      {item.isStolen && (
        <Fact term="Stolen">
          The incident did not start before this token was created. Its creation does not count as an action
          of the intruder.
        </Fact>
      )}
      <Fact term="Risk">{risk === null ? 'no rule finds anything' : <Severity severity={risk} />}</Fact>
      <TextFacts facts={facts} />
      {remedy !== null && (
        <Fact term={REMEDIES[remedy.kind]}>
          {remedy.kind === 'manual' ? remedy.text : <CommandLine command={remedy.text} />}
          {remedy.isUntried && 'Not tested on a controller.'}
        </Fact>
      )}
      {notCleanable !== null && item.remains && (
        <Fact term="By hand">
          A cleanup cannot remove it{remedy?.text === notCleanable ? '.' : `: ${notCleanable}`}
        </Fact>
      )}
      {page !== null && (
        <Fact term="Controller">
          <ObjectLink page={page} />
        </Fact>
      )}
      <Fact term="Id">
        <code>{id}</code>
      </Fact>
    </DescriptionList>
  );
}

/** The same in a dialog, with possible actions. */
export function ItemDialog(props: {
  readonly item: Item;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}): ReactNode {
  const { item, onClose, children } = props;
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="item-title">
      <ModalHeader title={item.summary} labelId="item-title" />
      <ModalBody tabIndex={0} aria-label="The item">
        <ItemDetails item={item} />
      </ModalBody>
      <ModalFooter>
        <Button variant="secondary" onClick={onClose}>
          Close
        </Button>
        {children}
      </ModalFooter>
    </Modal>
  );
}

/** The other columns of a list of items. */
export const ITEM_COLUMNS = {
  risk: {
    title: 'Risk',
    show: ({ risk }: Item) => (risk === null ? 'none found' : <Severity severity={risk} />),
  },
  by: { title: 'By', show: ({ by }: Item) => (by.length === 0 ? 'not recorded' : by.join(', ')) },
  when: { title: 'When', show: ({ first: at }: Item) => <When at={at} /> },
};

/** How a responder ends the item; none of this was done by the intruder. */
const REMEDIES = {
  command: 'To remove it, run',
  call: 'To remove it, send',
  manual: 'To remove it',
} as const;
