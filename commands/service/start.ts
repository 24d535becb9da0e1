import { boolean, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { port } from '../../src/cli/flags.ts';

/** Runs the automation service. */
export default class ServiceStart extends TokenctlCommand {
  static override summary = 'Run the automation service, for trying, testing and small installations.';

  static override description =
    `Without --database it keeps its data in an embedded database, in a folder that only one process may use. \
The first start makes the superuser "admin", with the password of TOKENCTL_ADMIN_PASSWORD, or a random one that \
is shown once. A database URL with a password comes from --database-file or TOKENCTL_SERVICE_DATABASE.

Secrets among the settings are encrypted with the key in TOKENCTL_SERVICE_SECRET_KEY, or in the file that \
TOKENCTL_SERVICE_SECRET_KEY_FILE names; the embedded database makes one unless it is given. Variables named as \
the settings of single sign-on (SOCIAL_AUTH_...) fix those settings.

Anything but loopback takes --tls-cert and --tls-key, or --behind-proxy where a proxy in front speaks TLS: then \
X-Forwarded headers of private addresses are believed. It prints nothing with --json: it runs until a signal.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --port 8080 --data ./service-data',
    '<%= config.bin %> <%= command.id %> --host 0.0.0.0 --behind-proxy --database-file /etc/tokenctl/database',
  ];

  /** It has a configuration of its own: these flags and variables. */
  static override baseFlags = {};

  static override flags = {
    host: string({
      summary: 'The address to listen on; 127.0.0.1 unless given.',
      helpGroup: 'NETWORK',
      helpValue: 'ADDRESS',
    }),
    port: port({
      summary: 'The port to listen on; 8052 unless given.',
      helpGroup: 'NETWORK',
      helpValue: 'N',
    }),
    'behind-proxy': boolean({
      summary: 'A proxy in front speaks TLS and sets X-Forwarded headers.',
      helpGroup: 'NETWORK',
    }),
    'tls-cert': string({
      summary: 'The certificate chain, in PEM.',
      dependsOn: ['tls-key'],
      helpGroup: 'NETWORK',
      helpValue: 'FILE',
    }),
    'tls-key': string({
      summary: 'The key, in PEM.',
      dependsOn: ['tls-cert'],
      helpGroup: 'NETWORK',
      helpValue: 'FILE',
    }),
    data: string({
      summary: 'The folder of the embedded database.',
      exclusive: ['database', 'database-file'],
      helpGroup: 'DATABASE',
      helpValue: 'DIR',
    }),
    database: string({
      summary: 'A postgres:// URL without a password.',
      exclusive: ['database-file'],
      helpGroup: 'DATABASE',
      helpValue: 'URL',
    }),
    'database-file': string({
      summary: 'A file of mode 0600 that holds a postgres:// URL.',
      helpGroup: 'DATABASE',
      helpValue: 'FILE',
    }),
    'session-cookie-name': string({
      summary: 'The name of the session cookie; svc_sessionid unless given.',
      helpValue: 'NAME',
    }),
    'require-pkce': boolean({
      summary:
        'Whether public clients must use PKCE for an authorization code; they must unless --no-require-pkce is given.',
      allowNo: true,
      helpGroup: 'OAUTH2',
    }),
    'allow-implicit-grant': boolean({
      summary: 'Let applications use the implicit grant, which RFC 9700 advises against.',
      helpGroup: 'OAUTH2',
    }),
    'log-level': option({
      summary: 'What is logged to stderr; info unless given.',
      options: ['silent', 'error', 'warn', 'info', 'debug'] as const,
    })(),
  };

  async run(): Promise<void> {
    const { flags } = await this.input(ServiceStart);
    const { writeNotice: notify } = await import('../../src/cli/output/streams.ts');
    const { runService } = await import('../../src/app/run-service.ts');
    await runService(
      {
        ...flags,
        databaseFile: flags['database-file'],
        sessionCookieName: flags['session-cookie-name'],
        behindProxy: flags['behind-proxy'],
        requirePkce: flags['require-pkce'],
        allowImplicitGrant: flags['allow-implicit-grant'],
        tlsCert: flags['tls-cert'],
        tlsKey: flags['tls-key'],
        logLevel: flags['log-level'],
      },
      { notify, attended: process.stderr.isTTY, environment: process.env, version: this.config.version },
    );
  }
}
