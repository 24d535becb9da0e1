import type { ServiceContext } from '../context.ts';
import { type Backend, LABELS } from './backends.ts';
import { ssoConfiguration } from './configuration.ts';

/** A provider to log in with. */
export interface LoginProvider {
  readonly backend: Backend;
  /** With SAML: which identity provider. */
  readonly idp: string | null;
  readonly label: string;
  /** Where the login begins, without a query of `next`. */
  readonly path: string;
}

/** The providers that are set up, in the order of their buttons. */
export async function loginProviders(service: ServiceContext): Promise<readonly LoginProvider[]> {
  const { backends } = await ssoConfiguration(service, service.database);
  return backends.flatMap((configuration): readonly LoginProvider[] => {
    const { backend } = configuration;
    const path = `/sso/login/${backend}/`;
    if (configuration.backend !== 'saml') return [{ backend, idp: null, label: LABELS[backend], path }];
    // The database keeps the names in an order of its own.
    return Object.keys(configuration.idps)
      .sort()
      .map((idp) => ({
        backend,
        idp,
        label: idp,
        path: `${path}?idp=${encodeURIComponent(idp)}`,
      }));
  });
}
