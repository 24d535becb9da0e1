import { z } from 'zod';
import type { User } from '../../../domain/token.ts';
import { jsonOf } from '../answer-failure.ts';
import type { Api } from '../api.ts';
import { id, instant } from '../bodies.ts';
import type { Reader } from '../dialect.ts';

/** Kinds of identity providers by the gateway's authenticators; null for its own accounts. */
type Kinds = ReadonlyMap<number, string | null>;

/** Names the links to authenticators as the newest gateways do, or as those before. */
const linked = z.record(z.string(), z.unknown()).transform((links) => Object.keys(links).map(Number));

const user = z.object({
  id,
  username: z.string(),
  is_superuser: z.boolean(),
  is_platform_auditor: z.boolean().optional(),
  /** As the earliest gateways call it. */
  is_system_auditor: z.boolean().optional(),
  is_active: z.boolean().optional(),
  last_login: instant.nullish(),
  associated_authenticators: linked.catch([]).default([]),
  authenticators: z.array(z.number()).catch([]).default([]),
});

/** One page of them: nobody has more. */
const authenticators = z.object({ results: z.array(z.object({ id, type: z.string() })) });

/** Reads a user without asking for the kinds of identity providers. */
export function readUser(body: unknown): User | null {
  return userOf(body, new Map());
}

/** A reader of users that knows the authenticators, where the caller may list them. */
export async function userReader(api: Api): Promise<Reader<User>> {
  const kinds = await authenticatorKinds(api);
  return (body) => userOf(body, kinds);
}

function userOf(body: unknown, kinds: Kinds): User | null {
  const { data } = user.safeParse(body);
  if (data === undefined) return null;
  const { is_platform_auditor: platform, is_system_auditor: system } = data;
  const links = [...data.associated_authenticators, ...data.authenticators];
  const providers = links.map((link) => (kinds.has(link) ? kinds.get(link) : OTHER));
  return {
    id: data.id,
    username: data.username,
    isSuperuser: data.is_superuser,
    isSystemAuditor: platform ?? system ?? false,
    isActive: data.is_active,
    externalAccount: providers.find((kind) => kind !== null) ?? null,
    lastLogin: data.last_login ?? null,
  };
}

/** Whoever may not list them (403, or 404 with whatever page) takes every link for one to an identity provider. */
async function authenticatorKinds(api: Api): Promise<Kinds> {
  const answer = await api.send({ method: 'GET', path: 'authenticators/?page_size=200' });
  if (answer.status === 403 || answer.status === 404) return new Map();
  const { data } = authenticators.safeParse(jsonOf(answer, api, 'the list of authenticators'));
  return new Map(data?.results.map((each) => [each.id, kindOf(each.type)]));
}

/** The controller's word for an authenticator's type, which is the Python path of its plugin. */
function kindOf(type: string): string | null {
  const plugin = type.slice(type.lastIndexOf('.') + 1);
  if (plugin === 'local') return null;
  return KINDS[plugin] ?? OTHER;
}

const KINDS: Readonly<Record<string, string>> = { ldap: 'ldap', radius: 'enterprise', tacacs: 'enterprise' };
const OTHER = 'social';
