/** What somebody who locks down knows of a theft: asked once, kept with the case, and used by its first investigation. */
import { z } from 'zod';
import type { Confirmation } from '../../cli/change/confirmation.ts';
import { objectOf, textOf } from '../../operations/journal/journal.ts';
import { incidentId } from '../command-line.ts';

/** All of it is optional: a lockdown must not wait for what nobody knows. */
export const theftSchema = z.strictObject({
  /** The number of the stolen token. */
  token: z.number().int().positive().optional(),
  /** When it began, as somebody said (RFC 3339). */
  since: z.iso.datetime().optional(),
  /** The incident of the account whose theft this one belongs to. */
  of: incidentId.optional(),
});

export type Theft = z.infer<typeof theftSchema>;

/**
 * Keeps a theft with the case of a lockdown once that is confirmed, before anything is changed.
 *
 * @param given.filesOf The files of a case by its incident.
 * @param given.onFailure Told why it was not kept: that must not stop a lockdown.
 */
export function keepingTheft(
  confirmation: Confirmation,
  given: {
    readonly theft: Theft | undefined;
    readonly filesOf: (incident: string) => { readonly keepTheft: (theft: Theft) => void };
    readonly onFailure: (line: string) => void;
  },
): Confirmation {
  const { theft, filesOf, onFailure } = given;
  if (theft === undefined || Object.keys(theft).length === 0) return confirmation;
  return {
    ...confirmation,
    async confirm(question) {
      await confirmation.confirm(question);
      const incident = textOf(objectOf(question.json)?.['incident']);
      if (incident === undefined) return;
      try {
        filesOf(incident).keepTheft(theft);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        onFailure(`What is known of the theft was not kept with the case: ${why}. The page will ask again.`);
      }
    },
  };
}
