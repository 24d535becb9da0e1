/** The menus of the masthead, loaded after the first view. */
import { Divider, Dropdown, DropdownGroup, DropdownItem, DropdownList } from '@patternfly/react-core';
import { useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { logOut } from '@tokenctl/common/web/session.tsx';
import { type ReactNode, type RefObject, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';

interface MenuProps {
  readonly toggle: RefObject<HTMLButtonElement | null>;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}

/** A menu below its button. The button is visible from the start. */
function Menu({ toggle, isOpen, onOpenChange, children }: MenuProps & { children: ReactNode }): ReactNode {
  // It first renders closed and then opens, even if it was loaded because the button was pressed.
  const [isShown, setShown] = useState(false);
  useEffect(() => setShown(isOpen), [isOpen]);
  return (
    <Dropdown
      isOpen={isShown}
      onOpenChange={onOpenChange}
      popperProps={{ position: 'right', appendTo: 'inline' }}
      toggle={{ toggleNode: null, toggleRef: toggle }}
    >
      {children}
    </Dropdown>
  );
}

/** `/api/` about the API, and `/api/v2/ping/` about the service. */
interface ApiRoot {
  readonly description?: string;
}
interface Ping {
  readonly version: string;
}

export function HelpMenu(props: MenuProps): ReactNode {
  const { isOpen } = props;
  const ping = useApi<Ping>('/api/v2/ping/', { enabled: isOpen });
  const root = useApi<ApiRoot>('/api/', { enabled: isOpen });
  // A controller has a different description.
  const isService = root.data?.description === 'Automation service REST API';
  return (
    <Menu {...props}>
      <DropdownGroup label={`Version ${ping.data?.version ?? '…'}`} labelHeadingLevel="h2">
        <DropdownList>
          <DropdownItem to="/api/v2/">REST API</DropdownItem>
          {isService && <DropdownItem to="/api/v2/openapi.json">API reference (OpenAPI)</DropdownItem>}
        </DropdownList>
      </DropdownGroup>
    </Menu>
  );
}

export function UserMenu(props: MenuProps): ReactNode {
  const { onOpenChange } = props;
  const me = useMe();
  const navigate = useNavigate();
  const go = (path: string) => () => {
    onOpenChange(false);
    void navigate(path);
  };
  return (
    <Menu {...props}>
      <DropdownList>
        <DropdownItem onClick={go(`/users/${me.id}`)}>My account</DropdownItem>
        <DropdownItem onClick={go(`/users/${me.id}/tokens`)}>My tokens</DropdownItem>
        <Divider component="li" />
        <DropdownItem onClick={logOut}>Log out</DropdownItem>
      </DropdownList>
    </Menu>
  );
}
