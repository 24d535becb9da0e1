/** The frame of the web interface: its pages, its navigation and the menu of the user. */
import {
  Divider,
  Dropdown,
  DropdownItem,
  DropdownList,
  MenuToggle,
  PageSection,
} from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { Link, Route, Routes, useLocation, useNavigate } from 'react-router';
import { PageHeading } from '../shared/detail.tsx';
import { Frame, ThemeButton } from '../shared/frame.tsx';
import { fullName, useMe } from '../shared/queries.ts';
import { logOut } from '../shared/session.tsx';
import { type LoadedPage, NAVIGATION, pageAt } from './pages.tsx';

/** The frame with the page of the current address. */
export function ServiceFrame(): ReactNode {
  const me = useMe();
  const { pathname } = useLocation();
  // One route instead of all: the router would rank every one of them each time.
  const found = pageAt(pathname);
  const seesAll = me.is_superuser || me.is_system_auditor;
  return (
    <Frame
      name="Automation service"
      tools={[<ThemeButton key="theme" />, <UserMenu key="user" />]}
      navigation={NAVIGATION.map(([group, entries]) => [
        group,
        entries.filter(({ forAuditors }) => seesAll || forAuditors !== true),
      ])}
    >
      <Routes>
        {found && <Route path={found.path} element={<Shown key={found.path} page={found.page} />} />}
        <Route path="*" element={<UnknownPage />} />
      </Routes>
    </Frame>
  );
}

function Shown({ page }: { readonly page: LoadedPage }): ReactNode {
  // The same component for as long as the page is shown.
  const [Component] = useState(page.component);
  return <Component />;
}

function UserMenu(): ReactNode {
  const me = useMe();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const go = (path: string) => () => {
    setOpen(false);
    void navigate(path);
  };
  return (
    <Dropdown
      isOpen={isOpen}
      onOpenChange={setOpen}
      popperProps={{ position: 'right' }}
      toggle={(ref) => (
        <MenuToggle ref={ref} isExpanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {fullName(me)}
        </MenuToggle>
      )}
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

function UnknownPage(): ReactNode {
  return (
    <>
      <PageHeading title="Page not found" />
      <PageSection>
        <p>
          There is no page with this address. <Link to="/">To the dashboard</Link>
        </p>
      </PageSection>
    </>
  );
}
