import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { IssuerKeys } from '@tokenctl/common/security-events/issuer-keys.ts';
import {
  MAX_IDENTITY_LENGTH,
  signatureAlgorithms,
  unverifiedIssuer,
  verifyIdentity,
} from '@tokenctl/common/security-events/verify-token.ts';
import { SignalRefusal } from '@tokenctl/common/signals/signal-refusal.ts';
import type { Logger } from 'pino';
import type { IssuedToken, TokenRequestForm, TokenService } from '../../broker/token-endpoint.ts';
import type { BrokerSettings } from '../../config/broker.ts';
import { type BrokerRule, decideRule, recordedClaims } from '../../domain/broker/rules.ts';
import { fingerprintOf } from '../../domain/leases.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import { BrokerRefusal } from '../../operations/ports/broker.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import type { BrokerDesk } from './broker-desk.ts';

/** How long an identity is remembered after its expiry, in seconds, since issuers' clocks differ by up to a minute. */
const REMEMBER_MORE_S = 180;

interface ServiceOptions {
  readonly settings: BrokerSettings;
  readonly rules: readonly BrokerRule[];
  readonly desk: BrokerDesk;
  readonly auditLog: AuditLog;
  readonly operator: Readonly<Record<string, string>>;
  readonly log: Logger;
}

/** Verifies identities, finds their rules, and has their tokens issued. */
export class PipelineTokens implements TokenService {
  readonly #options: ServiceOptions;
  readonly #keys = new IssuerKeys();
  readonly #refusals: RefusalNotes;
  readonly #issuers: ReadonlyMap<string, { readonly name: string; readonly ca: string | undefined }>;

  /** @throws TokenctlError `configuration` for an unreadable file of authorities */
  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#refusals = new RefusalNotes(options);
    this.#issuers = new Map(
      Object.entries(options.settings.issuers).map(([name, { url, caFile }]) => [
        url,
        { name, ca: caFile === undefined ? undefined : readCa(caFile) },
      ]),
    );
  }

  async exchange({ identity, audience, scope }: TokenRequestForm): Promise<IssuedToken> {
    const { rules, desk, log } = this.#options;
    const { issuer, claims, rememberMs } = await this.#verified(identity).catch((error: unknown) => {
      throw error instanceof SignalRefusal ? new BrokerRefusal('invalid_identity', error.message) : error;
    });
    const refuse = (refusal: BrokerRefusal, of: readonly BrokerRule[]) =>
      this.#refusals.note(refusal, { issuer, rules: of, claims });
    const ofIssuer = rules.filter((each) => each.issuer === issuer);
    const { rule, problem } = decideRule(ofIssuer, { issuer, claims, context: audience });
    if (rule === null) {
      const refusal = new BrokerRefusal(
        problem === 'no_context' ? 'invalid_target' : problem,
        WORDS[problem],
      );
      await refuse(refusal, ofIssuer);
      throw refusal;
    }
    if (scope === 'write' && rule.scope === 'read') {
      const refusal = new BrokerRefusal('invalid_scope', 'Tokens of this rule have the scope read');
      await refuse(refusal, [rule]);
      throw refusal;
    }
    const origin = { rule: rule.name, issuer, claims: recordedClaims(claims, [rule]) };
    const wanted = { rule, origin, scope: scope ?? rule.scope };
    const made = await desk
      .exchange({ ...wanted, identity: { id: identityId(identity, claims), rememberMs } })
      .catch(async (error: unknown) => {
        if (error instanceof BrokerRefusal) await refuse(error, [rule]);
        throw error;
      });
    const { value, token, lease, until } = made;
    log.info({ rule: rule.name, token: token.id, lease, fingerprint: fingerprintOf(value) }, 'token made');
    const seconds = Math.floor((until.getTime() - token.created.getTime()) / 1000);
    return { value, scope: wanted.scope, seconds, host: desk.hostOf(rule.context), rule: rule.name };
  }

  revoke(value: Secret): Promise<boolean> {
    return this.#options.desk.revoke(value);
  }

  async #verified(identity: string) {
    const { settings, rules } = this.#options;
    if (identity.length > MAX_IDENTITY_LENGTH)
      throw new SignalRefusal('invalid_request', 'The token is invalid: it is too long');
    const url = unverifiedIssuer(identity);
    const issuer = this.#issuers.get(url);
    const found = issuer === undefined ? undefined : settings.issuers[issuer.name];
    if (issuer === undefined || found === undefined)
      throw new SignalRefusal('invalid_issuer', 'The issuer of the token is none of the configuration');
    const now = machineClock.now();
    const claims = await verifyIdentity(identity, {
      ...{ issuer: url, audiences: [settings.audience], algorithms: signatureAlgorithms, now },
      keys: this.#keys.of({ url, jwks: found.jwks, ca: issuer.ca }),
      maxAge: found.maxAge,
    }).catch(async (error: unknown) => {
      // Signed, but for others: somebody presents here what was meant for another service.
      if (error instanceof SignalRefusal && error.code === 'invalid_audience' && error.claims !== undefined)
        await this.#refusals.note(new BrokerRefusal('invalid_identity', error.message), {
          issuer: issuer.name,
          rules: rules.filter((each) => each.issuer === issuer.name),
          claims: error.claims,
        });
      throw error;
    });
    const last = Math.min(claims.exp, claims.iat + found.maxAge) + REMEMBER_MORE_S;
    return { issuer: issuer.name, claims, rememberMs: Math.ceil(last * 1000 - now.getTime()) };
  }
}

const WORDS = {
  no_rule: 'No rule gives this identity a token',
  several_rules: 'Several rules fit this identity',
  no_context: 'No rule gives this identity a token for this audience',
} as const;

/** An id for each `jti` of an issuer, or for each token without one. A signature can be written in several ways. */
function identityId(token: string, { iss, jti }: { iss?: string; jti?: string }): string {
  const named = typeof jti === 'string' && jti !== '' ? [iss, jti] : [token.slice(0, token.lastIndexOf('.'))];
  return createHash('sha256').update(JSON.stringify(named)).digest('hex');
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `Cannot read the CA file of an issuer, ${path}`, { cause });
  }
}

/** The same refusal is recorded once in this time, in milliseconds, and at most this many different ones. */
const REFUSAL_MS = 600_000;
const MAX_REFUSALS = 100;

/** The audit log's facts about a refused identity. */
interface RefusedIdentity {
  readonly issuer: string;
  readonly rules: readonly BrokerRule[];
  /** What its issuer signed. */
  readonly claims: object;
}

/** Records identities that got no token: only those signed by their issuer, and only as many as people can read. */
class RefusalNotes {
  readonly #options: ServiceOptions;
  readonly #noted = new Map<string, number>();

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  async note(
    { problem, message }: BrokerRefusal,
    { issuer, rules, ...signed }: RefusedIdentity,
  ): Promise<void> {
    const claims: Readonly<Record<string, unknown>> = recordedClaims(signed.claims, rules);
    const { auditLog, operator, settings, log } = this.#options;
    const now = performance.now();
    for (const [key, at] of this.#noted) if (now - at > REFUSAL_MS) this.#noted.delete(key);
    const key = JSON.stringify([problem, issuer, claims['sub']]);
    if (this.#noted.has(key) || this.#noted.size >= MAX_REFUSALS) return;
    this.#noted.set(key, now);
    await auditLog
      .append({
        ...{ kind: 'note', operation: 'broker.refuse', run: randomUUID(), actor: operator },
        target: { context: 'broker', address: settings.audience },
        data: { problem, selection: message, issuer, rules: rules.map(({ name }) => name), claims },
      })
      .catch((error: unknown) => log.error({ reason: String(error) }, 'a refusal could not be recorded'));
  }
}
