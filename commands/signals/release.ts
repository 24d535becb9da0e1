import { string as textArgument } from '@oclif/core/args';
import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Have a held security event carried out',
  description: `Releases an event that is held, so that the receiver or the next run of the job signals-poll \
carries it out. With --user, it is carried out for this user; without, the subject is matched again. The \
limit of users in an hour does not apply. Exceptions and the account of tokenctl are never acted on.`,
  examples: ['1f0c9a2b77de --reason "confirmed with HR"', '1f0c9a2b77de --user alice --yes'],
  args: {
    id: textArgument({
      description: 'The id of the event, or its first digits.',
      required: true,
      ignoreStdin: true,
    }),
  },
  flags: {
    user: string({ summary: 'The user whom the event is about.', helpValue: 'NAME' }),
    ...changeFlags,
  },
  async run({ args, flags }) {
    const { decideFlow } = await import('../../src/cli/signals/decide-flow.ts');
    const { user } = flags;
    const decided = { id: args.id, decision: 'released', user } as const;
    return await this.change(flags, (request) => decideFlow({ ...request, ...decided }));
  },
});
