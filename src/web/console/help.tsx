/** The version, and links to its documentation. */
import { DescriptionList, PageSection } from '@patternfly/react-core';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useFacts } from './api.ts';
import { CommandLine } from './commands.tsx';
import { Fact } from './parts.tsx';

export function Help(): ReactNode {
  const { version, docs } = useFacts();
  return (
    <>
      <PageHeading title="Help" />
      <PageSection className="stacked narrow">
        <DescriptionList>
          <Fact term="Version">tokenctl {version}</Fact>
          <Fact term="Documentation of this version">
            <code>{docs}</code>
          </Fact>
          <Fact term="Runbooks">
            On the page <Link to="/incidents">Incidents</Link>, and filled in on each case's page.
          </Fact>
        </DescriptionList>
        <p>
          In a terminal, the first command prints the page about this console, and the second lists all pages:
        </p>
        <CommandLine command="tokenctl docs console" />
        <CommandLine command="tokenctl docs" />
      </PageSection>
    </>
  );
}
