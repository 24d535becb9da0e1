/** Short messages about what was done, in a corner of the page, read out by screen readers. */
import { Alert, AlertActionCloseButton, AlertGroup, type AlertProps } from '@patternfly/react-core';
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly variant: NonNullable<AlertProps['variant']>;
}

type Notify = (text: string, variant?: Notice['variant']) => void;

const Context = createContext<Notify>(() => undefined);

/** Shows a message: success, unless another variant is given. */
export function useNotify(): Notify {
  return useContext(Context);
}

const SHOWN_MS = 8_000;

/** Provides {@link useNotify}. */
export function Notices({ children }: { readonly children: ReactNode }): ReactNode {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const remove = (id: number) => setNotices((before) => before.filter((each) => each.id !== id));
  const notify = useCallback<Notify>((text, variant = 'success') => {
    setNotices((before) => [...before, { id: (before.at(-1)?.id ?? 0) + 1, text, variant }]);
  }, []);
  return (
    <Context value={notify}>
      {children}
      <AlertGroup isToast isLiveRegion aria-label="Messages">
        {notices.map(({ id, text, variant }) => (
          <Alert
            key={id}
            title={text}
            variant={variant}
            timeout={variant === 'success' ? SHOWN_MS : false}
            onTimeout={() => remove(id)}
            actionClose={<AlertActionCloseButton aria-label={`Close: ${text}`} onClose={() => remove(id)} />}
          />
        ))}
      </AlertGroup>
    </Context>
  );
}
