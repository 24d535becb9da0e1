// A page of PatternFly as its documentation writes one: its base styles, its components, nothing else. It has the frame
// and the cards of the dashboard (service/web/dashboard.tsx) with contents that are fixed, and reads nothing.
import '@patternfly/react-core/dist/styles/base.css';
import {
  Card,
  CardBody,
  CardTitle,
  Flex,
  FlexItem,
  Gallery,
  GalleryItem,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
  MenuToggle,
  Nav,
  NavGroup,
  NavItem,
  NavList,
  Page,
  PageSection,
  PageSidebar,
  PageSidebarBody,
  PageToggleButton,
  SkipToContent,
  Stack,
  StackItem,
  Title,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import BarsIcon from '@patternfly/react-icons/dist/esm/icons/bars-icon';
import { createElement, type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

const GROUPS = [
  ['Resources', ['Job templates', 'Projects', 'Inventories', 'Hosts', 'Credentials']],
  ['Access', ['Organizations', 'Users', 'Applications', 'Tokens']],
  ['Administration', ['Activity stream', 'Settings']],
] as const;

const RESOURCES = ['Hosts', 'Inventories', 'Projects', 'Job templates', 'Users', 'Organizations'];

const LISTS = [
  ['Tokens', ['Expire in 30 days', 'Never expire', 'Never used', 'Expired']],
  ['Jobs', ['Running', 'Pending', 'Successful', 'Failed']],
] as const;

function items(titles: readonly string[]): ReactNode {
  return titles.map((title) => (
    <NavItem key={title} to={`#${title}`}>
      {title}
    </NavItem>
  ));
}

const masthead = (
  <Masthead>
    <MastheadMain>
      <MastheadToggle>
        <PageToggleButton variant="plain" aria-label="Navigation">
          <BarsIcon />
        </PageToggleButton>
      </MastheadToggle>
      <MastheadBrand>
        <MastheadLogo>Automation service</MastheadLogo>
      </MastheadBrand>
    </MastheadMain>
    <MastheadContent>
      <Toolbar isStatic>
        <ToolbarContent>
          <ToolbarGroup align={{ default: 'alignEnd' }}>
            <ToolbarItem>
              <MenuToggle>admin</MenuToggle>
            </ToolbarItem>
          </ToolbarGroup>
        </ToolbarContent>
      </Toolbar>
    </MastheadContent>
  </Masthead>
);

const sidebar = (
  <PageSidebar>
    <PageSidebarBody>
      <Nav aria-label="Navigation">
        <NavList>{items(['Dashboard'])}</NavList>
        {GROUPS.map(([title, titles]) => (
          <NavGroup key={title} title={title}>
            {items(titles)}
          </NavGroup>
        ))}
      </Nav>
    </PageSidebarBody>
  </PageSidebar>
);

const numbers = (
  <Gallery hasGutter minWidths={{ default: '120px' }}>
    {RESOURCES.map((title, index) => (
      <GalleryItem key={title}>
        <Card isFullHeight isCompact>
          <CardBody>
            <a href={`#${title}`} className="dashboard-number">
              {index} <span>{title}</span>
            </a>
          </CardBody>
        </Card>
      </GalleryItem>
    ))}
  </Gallery>
);

const lists = (
  <Gallery hasGutter minWidths={{ default: '100%', lg: '320px' }}>
    {LISTS.map(([title, names]) => (
      <Card key={title}>
        <CardTitle component="h2">{title}</CardTitle>
        <CardBody>
          <dl>
            {names.map((name, index) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <a href={`#${name}`}>{index}</a>
                </dd>
              </div>
            ))}
          </dl>
        </CardBody>
      </Card>
    ))}
  </Gallery>
);

function card(title: string, body: ReactNode): ReactNode {
  return (
    <Card>
      <CardTitle component="h2">{title}</CardTitle>
      <CardBody>{body}</CardBody>
    </Card>
  );
}

const events = (
  <ul className="dashboard-events">
    {Array.from({ length: 6 }, (_, index) => createElement('li', { key: index }, `Event ${index}`))}
  </ul>
);

const page = (
  <Page
    isManagedSidebar
    masthead={masthead}
    sidebar={sidebar}
    skipToContent={<SkipToContent href="#main">Skip to content</SkipToContent>}
    mainContainerId="main"
  >
    <PageSection>
      <Flex>
        <FlexItem>
          <Title headingLevel="h1">Dashboard</Title>
        </FlexItem>
      </Flex>
    </PageSection>
    <PageSection>
      <Stack hasGutter>
        <StackItem>{numbers}</StackItem>
        <StackItem>{lists}</StackItem>
        <StackItem>{card('Finished jobs of the last month', 'No job finished in the last month.')}</StackItem>
        <StackItem>{card('Recent activity', events)}</StackItem>
      </Stack>
    </PageSection>
  </Page>
);

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root element');
createRoot(root).render(<StrictMode>{page}</StrictMode>);
