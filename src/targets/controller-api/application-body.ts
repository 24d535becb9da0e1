import { z } from 'zod';
import type { Application } from '../../domain/token.ts';
import { id, instant } from './bodies.ts';

const application = z
  .object({
    id,
    name: z.string(),
    client_type: z.enum(['confidential', 'public']),
    authorization_grant_type: z.string(),
    created: instant,
  })
  .transform(
    (body): Application => ({
      id: body.id,
      name: body.name,
      clientType: body.client_type,
      grantType: body.authorization_grant_type,
      created: body.created,
    }),
  );

/** Reads an application; null for what is none. */
export function readApplication(body: unknown): Application | null {
  return application.safeParse(body).data ?? null;
}
