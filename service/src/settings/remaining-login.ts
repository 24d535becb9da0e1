import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { ServiceContext } from '../context.ts';
import { invalid } from '../failure.ts';
import {
  type BackendConfiguration,
  configurationDigest,
  GITHUB,
  GOOGLE,
  ssoConfiguration,
} from '../sso/configuration.ts';
import { lockSettings } from '../store/settings.ts';
import { successes } from '../store/sso-logins.ts';
import { superuserAccounts } from '../store/users.ts';
import { currentSettings, ssoSettings } from './settings.ts';

type Service = Pick<ServiceContext, 'fixedSettings' | 'secrets'>;

/**
 * Why no superuser could log in without local accounts; null if one could. One can if they have an account at
 * a configured provider that had a successful login with its current configuration.
 */
export async function withoutSuperuserLogin(service: Service, database: Queryable): Promise<string | null> {
  const { backends } = await ssoConfiguration(service, database);
  if (backends.length === 0) return 'no identity provider is configured';
  const seen = await successes(database);
  const working = backends.filter((each) => seen.get(each.backend) === configurationDigest(each));
  if (working.length === 0) {
    return 'no user has logged in with the current configuration of an identity provider. Log in through it first';
  }
  const accounts = await superuserAccounts(database);
  const isLeft = accounts.some(({ provider, uid }) =>
    working.some((each) => each.backend === provider && vouchesFor(each, uid)),
  );
  return isLeft ? null : 'no superuser could log in. Make a user of an identity provider a superuser first';
}

/** Whether an account comes from the currently configured provider: a different one may have been configured before. */
function vouchesFor(configuration: BackendConfiguration, uid: string): boolean {
  const under = (address: string) => uid.startsWith(`${address}|`);
  switch (configuration.backend) {
    case 'saml':
      return Object.keys(configuration.idps).some((idp) => uid.startsWith(`${idp}:`));
    case 'github':
      return configuration.url === GITHUB ? !uid.includes('|') : under(configuration.url);
    case 'oidc':
    case 'google-oauth2': {
      const issuer = configuration.issuer.replace(/\/+$/, '');
      return configuration.backend !== 'oidc' && issuer === GOOGLE
        ? !uid.includes('|')
        : under(issuer) || under(`${issuer}/`);
    }
    case 'azuread-oauth2': {
      const { tenants } = configuration;
      return tenants.length === 0 || tenants.some((tenant) => uid.includes(`/${tenant}/`));
    }
  }
}

/**
 * Throws unless a superuser can still log in. Call it after every change of settings or users that can lock
 * out the last superuser.
 * @throws RequestFailure 400, which rolls the change back and explains how to make it.
 */
export async function requireSuperuserLogin(service: Service, transaction: Queryable): Promise<void> {
  const why = await whyNoneIsLeft(service, transaction);
  if (why === null) return;
  throw invalid({
    __all__: [
      `Local accounts are turned off, and after this change no superuser could log in: ${why}. ` +
        'Turn DISABLE_LOCAL_AUTH off, make the change, log in through the provider, and turn it on again.',
    ],
  });
}

/** Why no superuser can log in after a change; null if one can, as while local accounts are on. Serializes changes. */
export async function whyNoneIsLeft(service: Service, transaction: Queryable): Promise<string | null> {
  await lockSettings(transaction);
  const { DISABLE_LOCAL_AUTH } = await currentSettings(transaction);
  return DISABLE_LOCAL_AUTH ? withoutSuperuserLogin(service, transaction) : null;
}

/** Logs at startup what prevents logins: a wrong key for secrets, and settings that do not fit together. */
export async function reportLoginProblems(
  service: Service & Pick<ServiceContext, 'database' | 'log'>,
): Promise<void> {
  const { database, log } = service;
  const { undecryptable } = await ssoConfiguration(service, database);
  if (undecryptable.length > 0) {
    log.error(
      { backends: undecryptable },
      'the stored secrets of these providers cannot be decrypted with this secret key, so logins through them are off. ' +
        'Start the service with the key that was used to store them, or set the secrets again',
    );
  }
  await requireKeyPair(service, database).catch(() => {
    log.error('SOCIAL_AUTH_SAML_SP_PUBLIC_CERT does not belong to SOCIAL_AUTH_SAML_SP_PRIVATE_KEY');
  });
  const { DISABLE_LOCAL_AUTH } = await currentSettings(database);
  const why = DISABLE_LOCAL_AUTH ? await withoutSuperuserLogin(service, database) : null;
  if (why !== null) {
    log.error(
      { why },
      'local accounts are turned off, and no superuser could log in. ' +
        'Stop the service and run "tokenctl service enable-local-auth"',
    );
  }
}

/** Checks that the service provider's certificate matches its private key. Throws 400. */
export async function requireKeyPair(service: Service, transaction: Queryable): Promise<void> {
  const settings = await ssoSettings(service, transaction);
  const certificate = settings.get('SOCIAL_AUTH_SAML_SP_PUBLIC_CERT');
  const key = settings.get('SOCIAL_AUTH_SAML_SP_PRIVATE_KEY');
  if (typeof certificate !== 'string' || typeof key !== 'string' || certificate === '' || key === '') return;
  if (new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return;
  throw invalid({
    SOCIAL_AUTH_SAML_SP_PUBLIC_CERT: [
      'The certificate does not belong to SOCIAL_AUTH_SAML_SP_PRIVATE_KEY. Set both in one request.',
    ],
  });
}
