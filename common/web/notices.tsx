/** Short messages about completed actions, in a corner of the page, announced by screen readers. */
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { useLater } from './later.ts';
import type { Notice } from './notice.tsx';

/** Without a text, success messages are removed, because another action starts. */
type Notify = (text: string | null, variant?: Notice['variant']) => void;

const Context = createContext<Notify>(() => undefined);

/** Shows a message; by default one of success. */
export function useNotify(): Notify {
  return useContext(Context);
}

const shownNotice = () => import('./notice.tsx');

/** Provides {@link useNotify}. */
export function Notices({ children }: { children: ReactNode }): ReactNode {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const part = useLater(shownNotice, notices.length > 0);
  const remove = (id: number) => setNotices((before) => before.filter((each) => each.id !== id));
  const notify = useCallback<Notify>((text, variant = 'success') => {
    setNotices((before) =>
      text === null
        ? before.filter((each) => each.variant !== 'success')
        : [...before, { id: (before.at(-1)?.id ?? 0) + 1, text, variant }],
    );
  }, []);
  return (
    <Context value={notify}>
      {children}
      {/* Screen readers announce additions to a list that exists from the start. */}
      <ul
        className="pf-v6-c-alert-group pf-m-toast"
        // biome-ignore lint/a11y/noRedundantRoles: Safari announces a list without markers as one only with the role
        role="list"
        aria-label="Messages"
        aria-live="polite"
        aria-atomic="false"
      >
        {notices.map((notice) => (
          <li key={notice.id} className="pf-v6-c-alert-group__item">
            {part === null ? notice.text : <part.ShownNotice notice={notice} onClose={remove} />}
          </li>
        ))}
      </ul>
    </Context>
  );
}
