import { defineCommand } from '../../src/cli/base-command.ts';
import { investigateFlags } from '../../src/cli/investigation/investigation-flags.ts';

export default defineCommand({
  summary: 'Investigate what an intruder did',
  description: `Reads the controller's activity stream to find out what a user did in a period, including \
the actions of users that this user created or whose passwords this user changed. Compares this with the \
current state and lists remaining access, code that can still run, code that ran, data that may have been \
read, and what is unknown. Each item shows whether it still exists, whether another user has changed it \
since, its risk and how to remove it. Changes nothing.

The activity stream records users, not tokens. With --token and --application, everything their owners did \
is included.

On a platform gateway, this reads the gateway's activity stream. It also checks who last created or changed \
authenticators, applications and role assignments, which that stream does not record. The controller behind \
the gateway has its own activity stream.`,
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
