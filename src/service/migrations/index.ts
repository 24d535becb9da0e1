import type { Migration } from '../../db/migrate.ts';
import { initial } from './001-initial.ts';

/** The service's schema, oldest step first. A released step is never changed: a new one follows it. */
export const migrations: readonly Migration[] = [initial];
