import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A certificate with its key, as text and as files. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certification authority of a test: it signs certificates of servers at 127.0.0.1 and of clients. */
export function ownCa() {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-ca-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const key = (name: string) =>
    openssl(
      'genpkey',
      ...['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
      ...['-out', at(`${name}.key`)],
    );
  key('ca');
  openssl(
    'req',
    '-x509',
    '-new',
    '-key',
    at('ca.key'),
    '-days',
    '2',
    '-subj',
    '/CN=ca',
    '-out',
    at('ca.crt'),
  );
  return {
    certFile: at('ca.crt'),
    cert: readFileSync(at('ca.crt'), 'utf8'),
    /** @param subject As `/O=ops/CN=deploy`: in Kubernetes, a client's groups and user. */
    issue(name: string, subject = `/CN=${name}`): Issued {
      key(name);
      const [request, extensions] = [at(`${name}.csr`), at(`${name}.ext`)];
      writeFileSync(extensions, 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
      openssl('req', '-new', '-key', at(`${name}.key`), '-subj', subject, '-out', request);
      openssl(
        ...['x509', '-req', '-in', request, '-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-CAcreateserial'],
        ...['-days', '2', '-extfile', extensions, '-out', at(`${name}.crt`)],
      );
      const [certFile, keyFile] = [at(`${name}.crt`), at(`${name}.key`)];
      return {
        ...{ certFile, keyFile },
        cert: readFileSync(certFile, 'utf8'),
        key: readFileSync(keyFile, 'utf8'),
      };
    },
  };
}
