import { type Report, report } from '../../reports/result.ts';

/** The current context, as a command's result, with what the environment makes of that choice. */
export function chosenResult(name: string, overriddenBy: string | undefined): Report {
  const override =
    overriddenBy === undefined || overriddenBy === name
      ? ''
      : `In this shell the environment chooses "${overriddenBy}" instead (TOKENCTL_CONTEXT, CONTROLLER_HOST or TOKENCTL_DATABASE).\n`;
  return report({
    json: { currentContext: name, overriddenBy: override === '' ? null : overriddenBy },
    text: () => `The current context is "${name}".\n${override}`,
  });
}
