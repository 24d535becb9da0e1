import type { Migration } from '../../db/migrate.ts';
import { initial } from './001-initial.ts';
import { oauth2 } from './002-oauth2.ts';
import { applications } from './003-applications.ts';
import { jobs } from './004-jobs.ts';
import { singleSignOn } from './005-single-sign-on.ts';

/** The service's schema, oldest step first. A released step is never changed: a new one follows it. */
export const migrations: readonly Migration[] = [initial, oauth2, applications, jobs, singleSignOn];
