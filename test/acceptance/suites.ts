import type { AcceptanceSuite } from './scene.ts';
import { everyWay } from './suites/every-way.ts';
import { inTheDatabase } from './suites/in-the-database.ts';
import { leakedTokens } from './suites/leaked-tokens.ts';
import { refusals } from './suites/refusals.ts';
import { secrets } from './suites/secrets.ts';
import { settings } from './suites/settings.ts';
import { tokensOverRest } from './suites/tokens-over-rest.ts';

/** All suites in the order in which they run: the last one looks at what the others printed. */
export const SUITES: readonly AcceptanceSuite[] = [
  ...[everyWay, tokensOverRest, refusals, leakedTokens, inTheDatabase, settings],
  secrets,
];
