/** The session: the logged-in user, the way to the login page and back, and the logout. */
import { Bullseye } from '@patternfly/react-core';
import { QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, CHANGE_WITHOUT_SESSION, cookie, type Page } from './api.ts';
import { useLater } from './later.ts';
import { createQueryClient, type User, useApi } from './queries.ts';
import { Failed, Loading } from './states.tsx';

/** The login page, which reports the expired session and returns here. Without a session, no page is sent. */
function loginPath(): string {
  const { pathname, search, hash } = window.location;
  return `/api/login/?expired=1&next=${encodeURIComponent(pathname + search + hash)}`;
}

const expiredDialog = () => import('./expired-dialog.tsx');

/** Provides the cache of reads. Without a session, reads open the login page; changes ask for a login elsewhere. */
export function Session({ children }: { children: ReactNode }): ReactNode {
  const [isExpired, setExpired] = useState(false);
  const dialog = useLater(expiredDialog, isExpired);
  // The dialog stays open while it checks whether there is a session again.
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

/** Shows its children once the logged-in user is known. */
function KnownUser({ children }: { children: ReactNode }): ReactNode {
  const me = useApi<Page<User>>('/api/v2/me/');
  const id = me.data?.results[0]?.id;
  const first = useRef(id);
  useEffect(() => {
    first.current ??= id;
    // Another user logged in, in another tab: nothing on this page belongs to them.
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

/** Ends the session with a form, not with a script: a page about the identity provider's session may follow. */
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
