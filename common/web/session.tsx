/** The session: who is logged in, the way to the login page and back, and the logout. */
import { Bullseye } from '@patternfly/react-core';
import { QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, CHANGE_WITHOUT_SESSION, cookie, type Page } from './api.ts';
import { useLater } from './later.ts';
import { createQueryClient, type User, useApi } from './queries.ts';
import { Failed, Loading } from './states.tsx';

/** The login page, which says that the session has expired, and leads back to where the user is. Without one, no page is sent at all. */
function loginPath(): string {
  const { pathname, search, hash } = window.location;
  return `/api/login/?expired=1&next=${encodeURIComponent(pathname + search + hash)}`;
}

const expiredDialog = () => import('./expired-dialog.tsx');

/**
 * Provides the cache of what was read. A read without a session leads to the login page and back; a change
 * without one leaves the page as it is, with what was entered, and asks for a login in another tab.
 */
export function Session({ children }: { children: ReactNode }): ReactNode {
  const [isExpired, setExpired] = useState(false);
  const dialog = useLater(expiredDialog, isExpired);
  // The dialog stays open while it reads whether there is a session again.
  const isAsked = useRef(false);
  const ask = useCallback((isOpen: boolean) => {
    isAsked.current = isOpen;
    setExpired(isOpen);
  }, []);
  const [queries] = useState(() =>
    createQueryClient(() => {
      if (isAsked.current || document.querySelector('form') !== null) ask(true);
      else window.location.assign(loginPath());
    }),
  );
  useEffect(() => {
    const show = () => ask(true);
    window.addEventListener(CHANGE_WITHOUT_SESSION, show);
    return () => window.removeEventListener(CHANGE_WITHOUT_SESSION, show);
  }, [ask]);
  return (
    <QueryClientProvider client={queries}>
      <KnownUser>{children}</KnownUser>
      {isExpired && dialog !== null && <dialog.ExpiredDialog onClose={() => ask(false)} />}
    </QueryClientProvider>
  );
}

/** Shows its children once it is known who is logged in. */
function KnownUser({ children }: { children: ReactNode }): ReactNode {
  const me = useApi<Page<User>>('/api/v2/me/');
  const id = me.data?.results[0]?.id;
  const first = useRef(id);
  useEffect(() => {
    first.current ??= id;
    // Another user logged in, in another tab: nothing of this page is theirs.
    if (id !== first.current) window.location.reload();
  }, [id]);
  if (me.data !== undefined) return children;
  // On the way to the login page.
  if (me.error === null || (me.error instanceof ApiError && me.error.status === 401)) return <Loading />;
  return (
    <Bullseye>
      <Failed error={me.error} retry={() => void me.refetch()} />
    </Bullseye>
  );
}

/**
 * Ends the session with a form of the page, not with a request of the script: what follows may be a page
 * about the session at an identity provider.
 */
export function logOut(): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = '/api/logout/';
  for (const [name, value] of [
    ['csrfmiddlewaretoken', cookie('csrftoken')],
    ['next', '/'],
  ]) {
    const input = document.createElement('input');
    input.type = 'hidden';
    input.name = name ?? '';
    input.value = value ?? '';
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}
