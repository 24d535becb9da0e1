import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags, requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Release a held event',
  description: `Releases a held event so that the receiver or the next run of the job signals-poll processes \
it. With --user, it is processed for this user. Otherwise, the subject is matched again. The limit of users \
per hour does not apply. Exceptions and tokenctl's own account are never acted on.`,
  examples: ['1f0c9a2b77de --reason "confirmed with HR"', '1f0c9a2b77de --user alice --yes'],
  args: { id: requiredArgument('The event ID or its first digits.') },
  flags: {
    user: string({ summary: 'The user that the event is about.', helpValue: 'NAME' }),
    ...changeFlags,
  },
  async run({ args, flags }) {
    const { decideFlow } = await import('../../src/cli/signals/decide-flow.ts');
    const { user } = flags;
    const decided = { id: args.id, decision: 'released', user } as const;
    return await this.change(flags, (request) => decideFlow({ ...request, ...decided }));
  },
});
