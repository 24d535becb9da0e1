import { Button, type ButtonProps } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';

/** A link to another page that looks like a button. */
export function ButtonLink({
  to,
  variant = 'primary',
  children,
}: {
  to: string;
  variant?: ButtonProps['variant'];
  children: ReactNode;
}): ReactNode {
  return (
    <Button variant={variant} component={(props) => <Link {...props} to={to} />}>
      {children}
    </Button>
  );
}
