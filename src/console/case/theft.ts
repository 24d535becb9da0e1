/** The facts of a theft at its lockdown: asked once, kept with the case, used by its investigation. */
import { z } from 'zod';
import type { LockdownChange } from '../../cli/incident/lockdown-flow.ts';
import { incidentId } from '../command-line.ts';

/** All of it is optional: a lockdown must not wait for unknown facts. */
export const theftSchema = z.strictObject({
  token: z.number().int().positive().optional(),
  /** When it began, according to the user (RFC 3339). */
  since: z.iso.datetime().optional(),
  /** The incident of the account whose theft this one belongs to. */
  of: incidentId.optional(),
});

export type Theft = z.infer<typeof theftSchema>;

/**
 * The lockdown that stores a theft with its case before anything is changed.
 * @param given.files The files of the case.
 * @param given.onFailure Called with the reason if it was not stored: that must not stop a lockdown.
 */
export function keepingTheft(
  lockdown: LockdownChange,
  given: {
    readonly theft: Theft | undefined;
    readonly files: { readonly keepTheft: (theft: Theft) => void };
    readonly onFailure: (line: string) => void;
  },
): LockdownChange {
  const { theft, files, onFailure } = given;
  if (theft === undefined || Object.keys(theft).length === 0) return lockdown;
  return {
    ...lockdown,
    async act(begin, isWhole) {
      try {
        files.keepTheft(theft);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        onFailure(
          `The incident details were not stored with the case: ${why}. The page will ask for them again.`,
        );
      }
      return await lockdown.act(begin, isWhole);
    },
  };
}
