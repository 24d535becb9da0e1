import type { TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import { expect, test } from 'vitest';
import { exitCodeOf } from '../../../src/cli/errors/failure.ts';

// Written out a second time: these numbers are promised, and a change has to be made knowingly.
const promised: Record<TokenctlErrorCode, number> = {
  usage: 2,
  configuration: 2,
  not_found: 2,
  lockout_refused: 2,
  plan_too_large: 2,
  plan_outdated: 2,
  store_changed: 4,
  not_approved: 2,
  not_confirmed: 2,
  already_running: 2,
  findings: 3,
  credentials_refused: 4,
  permission_refused: 4,
  unsupported: 4,
  partly_done: 5,
  audit_unavailable: 6,
  outcome_unrecorded: 6,
  intent_closed: 6,
  log_broken: 6,
  target_unreachable: 7,
  target_misbehaved: 7,
  database_unreachable: 7,
  busy: 7,
  interrupted: 130,
};

test.each(Object.entries(promised))('%s ends the program with %i', (code, exit) => {
  expect(exitCodeOf(code as TokenctlErrorCode)).toBe(exit);
});
