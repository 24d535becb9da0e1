import { z } from 'zod';
import type { User } from '../../../domain/token.ts';
import { id, instant } from '../bodies.ts';

const user = z
  .object({
    id,
    username: z.string(),
    is_superuser: z.boolean(),
    is_system_auditor: z.boolean().default(false),
    is_active: z.boolean().optional(),
    external_account: z.string().nullish(),
    last_login: instant.nullish(),
  })
  .transform(
    (body): User => ({
      id: body.id,
      username: body.username,
      isSuperuser: body.is_superuser,
      isSystemAuditor: body.is_system_auditor,
      isActive: body.is_active,
      externalAccount: body.external_account || null,
      lastLogin: body.last_login ?? null,
    }),
  );

/** Reads a user; null for what is none. */
export function readUser(body: unknown): User | null {
  return user.safeParse(body).data ?? null;
}
