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

/** Tabs with their own URLs. */
export function LinkedTabs(props: {
  /** Paths and titles. */
  readonly tabs: readonly (readonly [string, string])[];
  /** The subject of the tabs, for screen readers. */
  readonly label: string;
}): ReactNode {
  const { tabs, label } = props;
  const { pathname } = useLocation();
  const section = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // If there are many tabs, a phone shows only the first ones.
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

/** Names with values. Undefined values are omitted. */
export function Facts(props: {
  /** Whether each value has its own line. */
  readonly isWide?: boolean;
  readonly facts: readonly (readonly [string, ReactNode | undefined])[];
}): ReactNode {
  const { facts, isWide = false } = props;
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
