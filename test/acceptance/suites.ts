import type { AcceptanceSuite } from './scene.ts';
import { allAccess } from './suites/all-access.ts';
import { applications } from './suites/applications.ts';
import { consoleInBrowser } from './suites/console.ts';
import { databaseRoles } from './suites/database-roles.ts';
import { dropIns } from './suites/drop-ins.ts';
import { everyWay } from './suites/every-way.ts';
import { evidence } from './suites/evidence.ts';
import { gatewaySessions } from './suites/gateway-sessions.ts';
import { inTheDatabase } from './suites/in-the-database.ts';
import { investigations } from './suites/investigation.ts';
import { leakedTokens } from './suites/leaked-tokens.ts';
import { localAccess } from './suites/local-access.ts';
import { lockdowns } from './suites/lockdowns.ts';
import { refreshTokens } from './suites/refresh-tokens.ts';
import { refusals } from './suites/refusals.ts';
import { secrets } from './suites/secrets.ts';
import { settings } from './suites/settings.ts';
import { storedTokens } from './suites/stored-tokens.ts';
import { tokensOverRest } from './suites/tokens-over-rest.ts';

/** All suites in the order in which they run: the last one looks at what the others printed. */
export const SUITES: readonly AcceptanceSuite[] = [
  ...[everyWay, tokensOverRest, refusals, leakedTokens, inTheDatabase, lockdowns, localAccess],
  ...[
    applications,
    storedTokens,
    gatewaySessions,
    investigations,
    dropIns,
    consoleInBrowser,
    databaseRoles,
    settings,
    refreshTokens,
    allAccess,
    evidence,
  ],
  secrets,
];
