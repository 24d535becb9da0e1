import { z } from 'zod';
import { duration } from '../src/config/value-schemas.ts';
import { defineJob } from '../src/operations/jobs/job.ts';

const consumer = z
  .strictObject({
    /** The controller's user; over REST it is the account of the context. */
    user: z.string().min(1).optional(),
    scope: z.enum(['read', 'write']).default('write'),
    /** The rotation interval, the lifetime of each token, and how long the old one is still accepted. */
    every: duration({ min: '1m', max: '365d' }),
    lifetime: duration({ min: '2m', max: '730d' }),
    overlap: duration({ min: '0s', max: '365d' }),
    store: z.string().min(1),
  })
  .superRefine(({ every, lifetime, overlap }, { addIssue }) => {
    if (overlap >= every) addIssue('must have an overlap below `every`: overlap < every');
    if (lifetime < every + overlap)
      addIssue('must have a lifetime that covers both: lifetime >= every + overlap');
  });

/** Gives programs new tokens, in the stores from which they read them. */
export const rotation = defineJob({
  name: 'rotation',
  on: 'target',
  schedule: '* * * * *',
  dryRun: true,
  // A consumer has one store: its tokens come from one component.
  inOnePlace: true,
  parameters: () =>
    z.strictObject({
      consumers: z
        .record(
          z
            .string()
            .regex(
              /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/,
              'cannot name a consumer: use lowercase letters, digits and dashes',
            ),
          consumer,
        )
        .refine((consumers) => Object.keys(consumers).length > 0, 'must have at least one consumer'),
    }),
  async run(context, { consumers }) {
    const { rotateAll } = await import('../src/operations/rotation/rotate-all.ts');
    const all = Object.entries(consumers).map(([name, settings]) => ({ name, ...settings }));
    return await rotateAll(context, all);
  },
});
