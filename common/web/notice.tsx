/** How a short message looks, loaded after the first view. */
import '@patternfly/react-styles/css/components/Alert/alert-group.css';
import { Alert, AlertActionCloseButton, type AlertProps } from '@patternfly/react-core';
import type { ReactNode } from 'react';

export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly variant: NonNullable<AlertProps['variant']>;
}

const SHOWN_MS = 8_000;

/** A message with a button to close it. A success message closes automatically. */
export function ShownNotice(props: { notice: Notice; onClose: (id: number) => void }): ReactNode {
  const { onClose } = props;
  const { id, text, variant } = props.notice;
  return (
    <Alert
      component="p"
      title={text}
      variant={variant}
      timeout={variant === 'success' ? SHOWN_MS : false}
      onTimeout={() => onClose(id)}
      actionClose={<AlertActionCloseButton aria-label={`Close: ${text}`} onClose={() => onClose(id)} />}
    />
  );
}
