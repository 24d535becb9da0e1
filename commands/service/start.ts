import { boolean, option, string } from '@oclif/core/flags';
import { defineCommand, outputFlags } from '../../src/cli/base-command.ts';
import { inGroup, port, serviceDatabaseFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Run the automation service',
  description: `Without --database, the service stores its data in an embedded database, in a directory that \
only one process can use. On first start, it creates the superuser "admin". The password comes from the file \
in TOKENCTL_ADMIN_PASSWORD_FILE or from TOKENCTL_ADMIN_PASSWORD. Otherwise, a random password is shown once. \
Pass a database URL with a password in --database-file, TOKENCTL_SERVICE_DATABASE_FILE or \
TOKENCTL_SERVICE_DATABASE. Prefer files because the operating system exposes the environment of running \
processes.

Secret settings are encrypted with the key in TOKENCTL_SERVICE_SECRET_KEY, or in the file named by \
TOKENCTL_SERVICE_SECRET_KEY_FILE. If neither is set, a key is created for the embedded database. Environment \
variables named like single sign-on settings (SOCIAL_AUTH_...) override those settings.

To listen on an address other than loopback, specify --public-url (or TOKENCTL_SERVICE_PUBLIC_URL) with the \
address that browsers use. Also specify --tls-cert and --tls-key, or --behind-proxy if a proxy in front \
handles TLS. Requests for other host names get status 421. With --behind-proxy, X-Forwarded headers from \
private addresses are trusted.

Jobs run in a sandbox without access to the service's environment, data and network. The sandbox requires \
bubblewrap and user namespaces. --jobs-network gives jobs access to hosts and everything else that this \
machine can reach. If the sandbox is not available, jobs end with an error unless --jobs-as-service runs \
them as the service.

The service runs until it receives a signal. It prints nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: [
    '',
    '--port 8080 --data ./service-data',
    '--host 0.0.0.0 --behind-proxy --public-url https://automation.example.org --database-file /etc/tokenctl/database',
  ],
  /** The service has its own configuration. */
  baseFlags: outputFlags,
  flags: {
    ...inGroup('NETWORK', {
      host: string({ summary: 'The address to listen on. Default: 127.0.0.1.', helpValue: 'ADDRESS' }),
      port: port({ summary: 'The port to listen on. Default: 8052.', helpValue: 'N' }),
      'public-url': string({
        summary: 'The URL for browsers. Default: loopback names only.',
        helpValue: 'URL',
      }),
      'behind-proxy': boolean({ summary: 'Trust the X-Forwarded headers of a TLS proxy in front.' }),
      'tls-cert': string({
        summary: 'The certificate chain in PEM format.',
        dependsOn: ['tls-key'],
        helpValue: 'FILE',
      }),
      'tls-key': string({
        summary: 'The private key in PEM format.',
        dependsOn: ['tls-cert'],
        helpValue: 'FILE',
      }),
    }),
    ...serviceDatabaseFlags,
    'session-cookie-name': string({
      summary: 'The name of the session cookie. Default: svc_sessionid.',
      helpValue: 'NAME',
    }),
    ...inGroup('OAUTH2', {
      'require-pkce': boolean({
        summary: 'Require PKCE from public clients. This is the default.',
        allowNo: true,
      }),
      'allow-implicit-grant': boolean({ summary: 'Allow the implicit grant. RFC 9700 advises against it.' }),
    }),
    ...inGroup('JOBS', {
      'jobs-network': boolean({
        summary: 'Let jobs use the network of this machine, to reach hosts over SSH.',
      }),
      'jobs-local-connection': boolean({
        summary: 'Allow hosts with ansible_connection: local, which runs modules where jobs run.',
      }),
      'jobs-as-service': boolean({
        summary: "Run jobs as the service's user, without a sandbox.",
        exclusive: ['jobs-network'],
      }),
    }),
    'log-level': option({
      summary: 'The log level on stderr. Default: info.',
      options: ['silent', 'error', 'warn', 'info', 'debug'] as const,
    })(),
  },
  async run({ flags }) {
    const { writeNotice: notify } = await import('../../src/cli/output/streams.ts');
    const { runService } = await import('../../src/app/service/run-service.ts');
    await runService(
      {
        ...flags,
        databaseFile: flags['database-file'],
        sessionCookieName: flags['session-cookie-name'],
        publicUrl: flags['public-url'],
        behindProxy: flags['behind-proxy'],
        requirePkce: flags['require-pkce'],
        allowImplicitGrant: flags['allow-implicit-grant'],
        tlsCert: flags['tls-cert'],
        tlsKey: flags['tls-key'],
        jobsNetwork: flags['jobs-network'],
        jobsAsService: flags['jobs-as-service'],
        jobsLocalConnection: flags['jobs-local-connection'],
        logLevel: flags['log-level'],
      },
      { notify, attended: process.stderr.isTTY, environment: process.env, version: this.config.version },
    );
  },
});
