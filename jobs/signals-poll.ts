import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { defineJob, type JobContext, type JobNotice } from '../src/operations/jobs/job.ts';
import type { PolledStreams } from '../src/operations/ports/transmitters.ts';
import type { PollReport } from '../src/operations/signals/poll-stream.ts';

/** Polls the streams of identity providers for security events, and processes them. */
export const signalsPoll = defineJob({
  name: 'signals-poll',
  on: 'log',
  schedule: '* * * * *',
  dryRun: true,
  parameters: () =>
    z
      .strictObject({
        /** The transmitters in the section `signals` to poll. Default: all that have `poll`. */
        transmitters: z.array(z.string().min(1)).min(1).optional(),
      })
      .prefault({}),
  async run(context, { transmitters }) {
    const streams = await context.services.polledStreams(context.log, context.signal);
    try {
      const names = transmitters ?? streams.names;
      if (names.length === 0)
        throw new TokenctlError('configuration', 'No transmitter in the section "signals" has `poll`');
      const polled = await pollEach(names, streams, context);
      // Recorded events are processed, even if another stream failed.
      const ended = context.dryRun ? 0 : await streams.carryOut();
      const summary = {
        streams: Object.fromEntries(polled.map(({ name, report }) => [name, report])),
        ended,
      };
      const texts = polled.map(({ name, report, error }) => textOf(name, report ?? error, context.dryRun));
      const message = texts.join('; ');
      const failed = polled.flatMap(({ error }) => error ?? []);
      const [first] = failed;
      if (first !== undefined) {
        const code = failed.length === polled.length ? first.code : 'partly_done';
        throw new TokenctlError(code, message, { hint: first.hint, details: summary, cause: first });
      }
      return { message, summary, interrupted: context.signal.aborted, notices: noticesOf(polled) };
    } finally {
      await streams.close();
    }
  },
});

/** The maximum number of refused events that a notice names. */
const MAX_NAMED = 20;

interface Polled {
  readonly name: string;
  readonly report: PollReport | null;
  readonly error: TokenctlError | null;
}

async function pollEach(names: readonly string[], streams: PolledStreams, { signal, dryRun }: JobContext) {
  const { pollStream } = await import('../src/operations/signals/poll-stream.ts');
  const polled: Polled[] = [];
  for (const name of names) {
    try {
      const report = await pollStream({
        ...{ source: streams.source(name), signal, dryRun },
        async take(id, token) {
          if (!dryRun) return await streams.take(name, id, token);
          await streams.check(name, id, token);
          return 'new';
        },
      });
      polled.push({ name, report, error: null });
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      polled.push({ name, report: null, error });
    }
  }
  return polled;
}

/** A refused event is not sent again: its user keeps access until a person acts. */
function noticesOf(polled: readonly Polled[]): readonly JobNotice[] {
  return polled.flatMap(({ name, report }) => {
    if (report === null || report.refused.length === 0) return [];
    const lines = report.refused.slice(0, MAX_NAMED).map(({ id, why }) => `${id.slice(0, 64)}: ${why}`);
    const subject = `Rejected ${report.refused.length} security events from ${name}`;
    const text = ['Nothing was done for them, and the transmitter does not send them again.', ...lines].join(
      '\n',
    );
    return [{ subject, text, severity: 'warning' as const }];
  });
}

function textOf(name: string, result: PollReport | TokenctlError | null, dryRun: boolean): string {
  if (result === null || result instanceof TokenctlError) return `${name}: ${result?.message ?? ''}`;
  const { received, known, refused, hasMore } = result;
  const again = known === 0 ? '' : `, ${known} sent again`;
  const more = hasMore ? '; more are waiting' : '';
  const rejected = refused.length === 0 ? '' : `, rejected ${refused.length}: ${refused[0]?.why ?? ''}`;
  return `${name}: ${dryRun ? 'would record' : 'recorded'} ${received} events${again}${rejected}${more}`;
}
