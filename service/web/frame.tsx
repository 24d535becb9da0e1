/** The frame of the web interface: pages, navigation and user menu. */
import { MenuToggle } from '@patternfly/react-core';
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon';
import { Frame, ThemeButton } from '@tokenctl/common/web/frame.tsx';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { useLater } from '@tokenctl/common/web/later.ts';
import { fullName, seesEverything, useMe } from '@tokenctl/common/web/queries.ts';
import { UnknownAddress } from '@tokenctl/common/web/states.tsx';
import { type ReactNode, useRef, useState } from 'react';
import { Route, Routes, useLocation } from 'react-router';
import { type LoadedPage, NAVIGATION, pageAt } from './pages.tsx';

export function ServiceFrame(): ReactNode {
  const me = useMe();
  const { pathname } = useLocation();
  // One route instead of all: the router would rank all of them each time.
  const found = pageAt(pathname);
  const seesAll = seesEverything(me);
  return (
    <Frame
      name="Automation service"
      tools={[<HelpMenu key="help" />, <ThemeButton key="theme" />, <UserMenu key="user" />]}
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

function Shown({ page }: { page: LoadedPage }): ReactNode {
  // The same component as long as the page is shown.
  const [Component] = useState(page.component);
  return <Component />;
}

const userMenu = () => import('./user-menu.tsx');

function UserMenu(): ReactNode {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  const menu = useLater(userMenu, isOpen);
  return (
    <>
      <MenuToggle ref={toggle} isExpanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {fullName(me)}
      </MenuToggle>
      {menu !== null && <menu.UserMenu toggle={toggle} isOpen={isOpen} onOpenChange={setOpen} />}
    </>
  );
}

function HelpMenu(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  const menu = useLater(userMenu, isOpen);
  return (
    <>
      <MenuToggle
        ref={toggle}
        variant="plain"
        aria-label="Help"
        title="Help"
        isExpanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        icon={<QuestionCircleIcon />}
      />
      {menu !== null && <menu.HelpMenu toggle={toggle} isOpen={isOpen} onOpenChange={setOpen} />}
    </>
  );
}

function UnknownPage(): ReactNode {
  return (
    <>
      <PageHeading title="Page not found" />
      <UnknownAddress>Go to the dashboard</UnknownAddress>
    </>
  );
}
