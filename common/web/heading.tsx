import { Breadcrumb, BreadcrumbItem, Flex, FlexItem, PageSection, Title } from '@patternfly/react-core';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';

interface HeadingProps {
  readonly title: string;
  /** The breadcrumbs: paths and names. */
  readonly above?: readonly (readonly [string, string])[];
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

/** The document's title before any page was shown: the name of the application. */
const APPLICATION = document.title;

/** The heading of a page, and the title of the browser's tab. */
export function PageHeading({ title, above = [], actions, children }: HeadingProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · ${APPLICATION}`;
  }, [title]);
  return (
    <PageSection>
      {above.length > 0 && (
        <Breadcrumb>
          {above.map(([path, name]) => (
            <BreadcrumbItem
              key={path}
              render={({ className }) => (
                <Link to={path} className={className}>
                  {name}
                </Link>
              )}
            />
          ))}
          <BreadcrumbItem isActive>{title}</BreadcrumbItem>
        </Breadcrumb>
      )}
      <Flex
        justifyContent={{ default: 'justifyContentSpaceBetween' }}
        alignItems={{ default: 'alignItemsCenter' }}
      >
        <FlexItem>
          <Title headingLevel="h1">{title}</Title>
        </FlexItem>
        {actions !== undefined && <FlexItem>{actions}</FlexItem>}
      </Flex>
      {children}
    </PageSection>
  );
}
