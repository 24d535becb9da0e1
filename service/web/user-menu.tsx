/** The menu of the user, loaded after the first view. */
import { Divider, Dropdown, DropdownItem, DropdownList } from '@patternfly/react-core';
import { useMe } from '@tokenctl/common/web/queries.ts';
import { logOut } from '@tokenctl/common/web/session.tsx';
import { type ReactNode, type RefObject, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';

/** The menu below its button, which is shown from the beginning. */
export function UserMenu({
  toggle,
  isOpen,
  onOpenChange,
}: {
  readonly toggle: RefObject<HTMLButtonElement | null>;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}): ReactNode {
  const me = useMe();
  const navigate = useNavigate();
  // It opens after it was there closed, also if it was loaded because the button was pressed.
  const [isShown, setShown] = useState(false);
  useEffect(() => setShown(isOpen), [isOpen]);
  const go = (path: string) => () => {
    onOpenChange(false);
    void navigate(path);
  };
  return (
    <Dropdown
      isOpen={isShown}
      onOpenChange={onOpenChange}
      popperProps={{ position: 'right', appendTo: 'inline' }}
      toggle={{ toggleNode: null, toggleRef: toggle }}
    >
      <DropdownList>
        <DropdownItem onClick={go(`/users/${me.id}`)}>My account</DropdownItem>
        <DropdownItem onClick={go(`/users/${me.id}/tokens`)}>My tokens</DropdownItem>
        <DropdownItem to="/api/v2/">REST API</DropdownItem>
        <Divider component="li" />
        <DropdownItem onClick={logOut}>Log out</DropdownItem>
      </DropdownList>
    </Dropdown>
  );
}
