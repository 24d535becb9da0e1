import { defineCommand } from '../../src/cli/base-command.ts';
import { investigateFlags } from '../../src/cli/investigation/investigation-flags.ts';

export default defineCommand({
  summary: 'Find out what an intruder did and left behind',
  description: `Reads from the controller's activity stream what a user did in a period, and what was done \
by the users that this user made or whose passwords it set. Compares it with what there is now, and lists: \
ways in that remain, ways to run code later, what ran, what may have been read, and what is not known. Each \
item says whether it is still there, whether another user changed it since, how large the risk is, and how \
to end it. Changes nothing.

The activity stream names users, not tokens: with --token and --application, everything that their owners \
did is included.

At a platform gateway, it reads the activity stream of the gateway, and who made or changed authenticators, \
applications and role assignments last, which that stream does not have. What was done on the controller \
behind it is recorded there.`,
  examples: [
    '--user alice --since 2026-11-20T08:00:00Z',
    '--token 4711 --out stolen-token.json',
    '--incident inc-1a2b3c4d --since 7d --all',
  ],
  flags: investigateFlags,
  async run({ flags }) {
    const { investigateFlow } = await import('../../src/cli/investigation/investigate-flow.ts');
    return await investigateFlow({ runtime: await this.runtime(flags), flags });
  },
});
