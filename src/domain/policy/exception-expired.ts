import { hasRunOut } from './exception.ts';
import type { ExceptionRule } from './rule.ts';

/** Finds exceptions of the policy that have run out: what they were for is found again, or is settled. */
export const exceptionExpired: ExceptionRule = {
  judges: 'exceptions',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: [],
  help: {
    finds: 'An exception of the policy whose last day is over, in a rule that is applied.',
    matters: 'Somebody promised that what it excuses would be settled by then.',
    remedy: 'Settle it and take the exception out of the policy, or decide again and give it another day.',
    reference: 'ISO/IEC 27001:2022, clause 10.2: nonconformities are followed up',
  },
  prepare: ({ facts }) => ({
    breaks: (exception) => hasRunOut(exception, facts.now),
    message: ({ until, reason }) => `It held until ${until ?? ''}, for this reason: ${reason}`,
  }),
};
