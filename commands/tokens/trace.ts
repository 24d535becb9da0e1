import { defineCommand } from '../../src/cli/base-command.ts';
import {
  countArgument,
  findingPolicyFlag,
  instantFor,
  selectionFrom,
  selectionOrAllFrom,
  selectorFlags,
} from '../../src/cli/flags/flags.ts';

const { id: _id, ...selection } = selectorFlags;

export default defineCommand({
  summary: 'Show the history of a token',
  description: `Combines the token list, the activity stream (events about the token, and its owner's \
changes since it was created) and the audit log entries that name the token. With an ID, it also works for a \
deleted token. With a selection instead of an ID, shows up to 20 tokens.`,
  examples: ['4711', '4711 --json', '--user alice --finding never-used'],
  args: { id: countArgument({ description: 'The token ID. Omit it to select tokens with flags.' }) },
  flags: { ...selection, ...findingPolicyFlag },
  async run({ flags, args }) {
    const { requireOneSelection, traceFlow, traceSelectedFlow } = await import(
      '../../src/cli/token-audit/trace-flow.ts'
    );
    const runtime = await this.runtime(flags);
    requireOneSelection(
      args.id,
      Object.keys(selection).filter((name) => name in flags),
    );
    if (args.id !== undefined) return await traceFlow(runtime, args.id);
    const given = flags.finding === undefined ? selectionFrom : selectionOrAllFrom;
    return await traceSelectedFlow(runtime, given(flags, await instantFor(flags, runtime)), flags);
  },
});
