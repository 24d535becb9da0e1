import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  type UseQueryResult,
  useQuery,
} from '@tanstack/react-query';
import { ApiError, callApi, earlyAnswer, type Page } from './api.ts';

/** The longest wait for an automatic retry, in seconds. After that the user decides. */
const MAX_WAIT = 30;
const MAX_ATTEMPTS = 3;

/**
 * The cache of reads. A list or object is refreshed when it is shown again, at most every few seconds; an
 * attempt that the server answers with Retry-After is repeated after that time.
 * @param onExpired Called when a read finds no session.
 */
export function createQueryClient(onExpired: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (error instanceof ApiError && error.status === 401) onExpired();
      },
    }),
    defaultOptions: { queries: { staleTime: 5_000, retry: mayRetry, retryDelay } },
  });
}

function mayRetry(failures: number, error: Error): boolean {
  if (!(error instanceof ApiError) || failures >= MAX_ATTEMPTS) return false;
  if (error.retryAfter !== null) return error.retryAfter <= MAX_WAIT;
  return error.status === 0 || error.status === 502 || error.status === 503;
}

function retryDelay(failures: number, error: Error): number {
  const wait = error instanceof ApiError && error.retryAfter !== null ? error.retryAfter : 2 ** failures;
  return wait * 1000;
}

interface ReadOptions {
  readonly enabled?: boolean;
  /** The refresh interval in milliseconds. Refreshes do not extend the session. */
  readonly every?: number | false;
  /** Shows the previous path's data until the new response arrives. */
  readonly keepPrevious?: boolean;
}

export function useApi<T>(path: string, options: ReadOptions = {}): UseQueryResult<T, Error> {
  const { enabled = true, every = false, keepPrevious = false } = options;
  return useQuery({
    queryKey: [path],
    initialData: () => earlyAnswer(path) as T | undefined,
    queryFn: ({ signal }) => callApi<T>(path, { signal, quiet: every !== false }),
    enabled,
    refetchInterval: every,
    placeholderData: keepPrevious ? keepPreviousData : undefined,
  });
}

/** A user in `/api/v2/me/` and `/api/v2/users/`. */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly is_superuser: boolean;
  readonly is_system_auditor: boolean;
  readonly last_login: string | null;
  readonly created: string;
  readonly external_account: string | null;
  readonly ldap_dn?: string;
  readonly auth?: readonly { readonly provider: string; readonly uid: string }[];
  readonly password?: string;
  readonly summary_fields: {
    readonly user_capabilities?: { readonly edit: boolean; readonly delete: boolean };
  };
}

/** The user of this session. The frame reads it before any page is shown. */
export function useMe(): User {
  const { data } = useApi<Page<User>>('/api/v2/me/');
  const me = data?.results[0];
  if (me === undefined) throw new Error('the page was shown before the session was read');
  return me;
}

/** Whether a user sees everything. To others, the API does not reveal whether there is more than they may see. */
export function seesEverything(user: Pick<User, 'is_superuser' | 'is_system_auditor'>): boolean {
  return user.is_superuser || user.is_system_auditor;
}

/** A user's full name if there is one, else the user name. */
export function fullName(user: Pick<User, 'username' | 'first_name' | 'last_name'>): string {
  return [user.first_name, user.last_name].filter((part) => part !== '').join(' ') || user.username;
}
