import type { Component } from '../../app/open-target.ts';
import type { Runtime } from '../../app/runtime.ts';
import { requireSides, type Sides } from '../../operations/migration/plan-migration.ts';
import { type MigratedToken, readMigrations } from '../../operations/migration/recorded-migrations.ts';

/** Both sides of a migration, and its data in the audit log. */
export interface Places extends Sides {
  readonly controller: Runtime;
  readonly gateway: Runtime;
  readonly migrated: readonly MigratedToken[];
}

/**
 * Opens the controller and the gateway that the flags name. A context of a whole platform provides both.
 * @throws TokenctlError `not_found` for a context, `usage` for the wrong kind of target, `permission_refused`
 * for an account that does not see everything.
 */
export async function openSides(
  runtime: Runtime,
  flags: { readonly from: string; readonly to: string },
): Promise<Places> {
  const controller = await componentOf(runtime, flags.from, 'controller');
  const gateway = await componentOf(runtime, flags.to, 'gateway');
  const from = await controller.readTarget();
  const to = await gateway.readTarget();
  requireSides(from.description, to.description);
  const log = await runtime.auditLog();
  const migrated = await readMigrations(log, { from: from.description, to: to.description });
  return { from, to, controller, gateway, migrated };
}

async function componentOf(runtime: Runtime, context: string, component: Component): Promise<Runtime> {
  const { progress } = runtime;
  const whole = runtime.in({ context, progress });
  const components = await whole.components();
  return components.length < 2 ? whole : runtime.in({ context, component, progress });
}
