import { SsoFailure } from './backends.ts';

/** What `openid-client` throws, in this service's words. Of an error only its message and code are kept: its cause may hold claims. */
export function libraryFailure(error: unknown): Error {
  if (error instanceof SsoFailure) return error;
  if (!(error instanceof Error)) return new Error('a library threw what is no error');
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const detail = `${error.message}${code === '' ? '' : ` (${code})`}`;
  if (error.name === 'AuthorizationResponseError') {
    const said = 'error' in error && typeof error.error === 'string' ? error.error : 'an error';
    return new SsoFailure('refused_by_provider', `the provider answered ${said.slice(0, 100)}`);
  }
  const unreached = error instanceof TypeError && error.message === 'fetch failed';
  if (unreached || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT' || error.name === 'TimeoutError') {
    return new SsoFailure('unreachable', detail);
  }
  return new SsoFailure('unverified', detail);
}
