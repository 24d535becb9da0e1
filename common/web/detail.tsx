/** The page of one resource: tabs and facts. */
import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Nav,
  NavItem,
  NavList,
  PageSection,
} from '@patternfly/react-core';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';

/** Tabs of which each has an address of its own. */
export function LinkedTabs({
  tabs,
  label,
}: {
  /** Paths and titles. */
  readonly tabs: readonly (readonly [string, string])[];
  /** What the tabs are about, for screen readers. */
  readonly label: string;
}): ReactNode {
  const { pathname } = useLocation();
  const section = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Of many tabs, a phone shows the first ones only.
    const current = section.current?.querySelector(`a[href="${CSS.escape(pathname)}"]`);
    current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [pathname]);
  return (
    <PageSection type="subnav">
      <div ref={section}>
        <Nav variant="horizontal-subnav" aria-label={label}>
          <NavList>
            {tabs.map(([path, title]) => (
              <NavItem key={path} isActive={path === pathname}>
                <Link to={path}>{title}</Link>
              </NavItem>
            ))}
          </NavList>
        </Nav>
      </div>
    </PageSection>
  );
}

/** Facts: names with their values. Undefined leaves one out. */
export function Facts({
  facts,
  isWide = false,
}: {
  /** Whether each value has a line for itself. */
  readonly isWide?: boolean;
  readonly facts: readonly (readonly [string, ReactNode | undefined])[];
}): ReactNode {
  return (
    <DescriptionList isHorizontal columnModifier={isWide ? {} : { lg: '2Col' }}>
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <DescriptionListGroup key={name}>
            <DescriptionListTerm>{name}</DescriptionListTerm>
            <DescriptionListDescription>{value === '' ? '—' : value}</DescriptionListDescription>
          </DescriptionListGroup>
        ))}
    </DescriptionList>
  );
}
