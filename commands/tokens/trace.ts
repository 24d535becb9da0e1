import { TokenctlCommand } from '../../src/cli/base-command.ts';
import {
  countArgument,
  findingPolicyFlag,
  instantFor,
  selectionFrom,
  selectionOrAllFrom,
  selectorFlags,
} from '../../src/cli/flags.ts';
import type { TraceJson } from '../../src/cli/token-audit/trace-result.ts';
import type { Result } from '../../src/reports/result.ts';

const { id: _id, ...selection } = selectorFlags;

export default class TokensTrace extends TokenctlCommand {
  static override summary = 'Show the history of a token';

  static override description =
    `Combines the token list, the activity stream (the token, and what its owner changed since it was created) and \
the audit log entries that name the token. By its id it also works for a deleted token. With a selection instead \
of an id, shows up to 20 tokens.

With --json, prints what docs/schemas/tokens-trace.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 4711',
    '<%= config.bin %> <%= command.id %> 4711 --json',
    '<%= config.bin %> <%= command.id %> --user alice --finding never-used',
  ];

  static override args = {
    id: countArgument({ description: 'The token id. Leave it out to select tokens by flags.' }),
  };

  static override flags = { ...selection, ...findingPolicyFlag };

  async run(): Promise<Result<TraceJson | readonly TraceJson[]>> {
    const { flags, args } = await this.input(TokensTrace);
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
  }
}
