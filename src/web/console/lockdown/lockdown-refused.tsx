/** The alternatives of an account that may not lock down. */
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { type Problem, query } from '../api.ts';
import { CommandLine } from '../commands.tsx';
import { Message } from '../parts.tsx';
import type { KnownTheft } from './lockdown-draft.ts';

/** A name that needs no quoting in a shell. */
const PLAIN_WORD = /^\w[\w.@-]*$/;

/** What an account that may not lock down can do about a theft. */
export function TheftRefused(props: {
  readonly place: string;
  readonly user: string;
  readonly theft: KnownTheft;
  readonly refusal: Problem;
}): ReactNode {
  const { place, user, theft, refusal } = props;
  return (
    <>
      <RightsMessage refusal={refusal} />
      <ul className="plain">
        {theft.token !== null && (
          <li>
            <Link to={query('/tokens', { place, id: String(theft.token) })}>Revoke token {theft.token}</Link>,
            if it is your own.
          </li>
        )}
        {theft.scope === 'user' && (
          <li>
            <Link to={query('/investigation', { place, user })}>Find out what {user} did</Link>: changes
            nothing.
          </li>
        )}
        {PLAIN_WORD.test(user) && (
          <li>
            For someone with permission:
            <CommandLine command={`tokenctl incident lockdown --${theft.scope} ${user}`} />
          </li>
        )}
      </ul>
    </>
  );
}

/** Says before any input that the account may not do it. */
export function RightsMessage({ refusal }: { refusal: Problem }): ReactNode {
  return (
    <Message variant="warning" title={`This account is not allowed to lock down. ${refusal.message}`}>
      {refusal.hint}
    </Message>
  );
}
