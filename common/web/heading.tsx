/** The heading of a page. */
import { Breadcrumb, BreadcrumbItem, Flex, FlexItem, PageSection, Title } from '@patternfly/react-core';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';

interface HeadingProps {
  readonly title: string;
  /** What the page belongs to, from the outside in: path and name. */
  readonly above?: readonly (readonly [string, string])[];
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

/** The title of the document before any page was shown: the name of the application. */
const APPLICATION = document.title;

/** The heading of a page. It is the title of the browser's tab as well. */
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
