import type { Runtime } from '../../app/runtime.ts';
import { extendIncident } from '../../operations/incident/recorded-incidents.ts';
import { type Report, report } from '../../reports/result.ts';
import { timeText } from '../../reports/times.ts';
import type { AccountFlags } from '../flags.ts';
import { tellOfDue } from './due-notice.ts';

/**
 * Sets when an incident is to be lifted.
 *
 * @throws TokenctlError whatever the operation throws.
 */
export async function extendFlow(request: {
  readonly runtime: Runtime;
  readonly incident: string;
  /** `for` in milliseconds; without it the incident is lifted by hand. */
  readonly flags: AccountFlags & { readonly for?: number | undefined };
}): Promise<Report> {
  const { runtime, flags } = request;
  const lasts = flags.for;
  const until = lasts === undefined ? null : new Date(runtime.clock.now().getTime() + lasts);
  const { target: _target, ...change } = await runtime.change(flags);
  const incident = await extendIncident({ ...change, incident: request.incident, until });
  await tellOfDue(runtime);
  return report({
    json: { incident, until },
    text: () =>
      until === null
        ? `${incident} stays until it is lifted.\n`
        : `${incident} is over at ${timeText(until)}: tokenctl incident lift --due\n`,
  });
}
