// Written by `npm run build` from the files in jobs/.
import { expiryNotices } from '../../../jobs/expiry-notices.ts';
import { incidentLift } from '../../../jobs/incident-lift.ts';
import { leaseEnd } from '../../../jobs/lease-end.ts';
import { logCheckpoint } from '../../../jobs/log-checkpoint.ts';
import { offboarding } from '../../../jobs/offboarding.ts';
import { ownerNotices } from '../../../jobs/owner-notices.ts';
import { revocationSweep } from '../../../jobs/revocation-sweep.ts';
import { rotation } from '../../../jobs/rotation.ts';
import { settingsGuard } from '../../../jobs/settings-guard.ts';
import { signalsPoll } from '../../../jobs/signals-poll.ts';
import { tokenAudit } from '../../../jobs/token-audit.ts';
import { tokenCleanup } from '../../../jobs/token-cleanup.ts';
import type { AnyJob } from '../../operations/jobs/job.ts';

/** Every kind of job. */
export const jobKinds: readonly AnyJob[] = [
  expiryNotices,
  incidentLift,
  leaseEnd,
  logCheckpoint,
  offboarding,
  ownerNotices,
  revocationSweep,
  rotation,
  settingsGuard,
  signalsPoll,
  tokenAudit,
  tokenCleanup,
];
