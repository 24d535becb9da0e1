/** The first page. */
import { PageSection } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { PageHeading } from '../shared/detail.tsx';

/** The dashboard. */
export function Dashboard(): ReactNode {
  return (
    <>
      <PageHeading title="Dashboard" />
      <PageSection>Nothing here yet.</PageSection>
    </>
  );
}
