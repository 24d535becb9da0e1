import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADMIN, type Body, basic, Client } from '@tokenctl/service/testing/service.ts';
import { hasProgram } from '@tokenctl/testing/tools.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../../bin/tokenctl.js', import.meta.url));
const PATH = process.env['PATH'] ?? '';
const isPossible =
  hasProgram('bwrap') &&
  hasProgram('ansible-playbook') &&
  spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true']).status === 0;
const isRoot = process.getuid?.() === 0;
/** A user without a name or files on the machine. */
const STRANGER = 54_321;
const MARK = 'only-the-service-knows';

/** Tries to reach what belongs to the service, and prints what it reached. */
const PROBE = `import glob, json, os, socket, sys
given = json.loads(sys.argv[1])
reached = []
def attempt(name, act):
    try:
        if act():
            reached.append(name)
    except OSError:
        pass
def read(path):
    with open(path, "rb") as file:
        return file.read()
def connect(address):
    kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(kind) as client:
        client.settimeout(3)
        client.connect(address if isinstance(address, str) else tuple(address))
    return True
attempt("own environment", lambda: any(given["mark"] in value for value in os.environ.values()))
attempt("environment of a process", lambda: any(given["mark"].encode() in read(p) for p in glob.glob("/proc/[0-9]*/environ")))
attempt("arguments of the service", lambda: any(b"tokenctl.js" in read(p) for p in glob.glob("/proc/[0-9]*/cmdline")))
attempt("service process", lambda: b"node" in read("/proc/%d/cmdline" % given["pid"]))
for path in given["paths"]:
    attempt("file " + path, lambda: os.path.exists(path))
attempt("shadow", lambda: read("/etc/shadow"))
for address in given["addresses"]:
    attempt("address %s" % (address,), lambda: connect(address))
attempt("root", lambda: os.setuid(0) is None)
attempt("writing the project", lambda: open("written", "w"))
attempt("writing the programs", lambda: open("/usr/written", "w"))
print("REACHED " + json.dumps(reached))
`;

const PLAYBOOK = `---
- hosts: all
  gather_facts: false
  tasks:
    - name: Probe
      ansible.builtin.command:
        argv: [python3, probe.py, "{{ probe | to_json }}"]
      register: probed
    - name: Say
      ansible.builtin.debug:
        msg: "{{ probed.stdout }}"
`;

/** Starts processes that leave the session of the playbook, and go on. */
const LEAVING = `---
- hosts: all
  gather_facts: false
  tasks:
    - name: Leave the session
      ansible.builtin.shell: "setsid -f sleep {{ seconds }}; (setsid sleep {{ seconds }} &) ; true"
    - name: Go on alone
      ansible.builtin.command: "sleep {{ seconds }}"
      async: 600
      poll: 0
    - name: Wait
      ansible.builtin.command: "sleep {{ wait }}"
`;

describe.skipIf(!isPossible).each([
  { who: isRoot ? 'root' : 'this user', uid: process.getuid?.() ?? 0, ran: true },
  { who: 'another user', uid: STRANGER, ran: isRoot && inject('longTests') },
])(
  `a job of the service of $who${isPossible ? '' : ' (needs bubblewrap, user namespaces and ansible-core: skipped)'}`,
  ({ uid, ran }) => {
    let folder: string;
    let service: ChildProcess;
    let port: number;
    let admin: Client;
    let log = '';

    const start = async (...flags: readonly string[]) => {
      const data = ['--data', join(folder, 'data'), '--port', String(port)];
      const args = [PROGRAM, 'service', 'start', ...data, '--jobs-local-connection', ...flags];
      service = spawn(process.execPath, args, {
        cwd: folder,
        env: {
          PATH,
          HOME: folder,
          XDG_STATE_HOME: folder,
          TMPDIR: folder,
          TOKENCTL_ADMIN_PASSWORD: ADMIN.password,
          TOKENCTL_SERVICE_DATABASE: `postgres://user:${MARK}@127.0.0.1/x`,
          TOKENCTL_SERVICE_SECRET_KEY: `${MARK}-${MARK}-${MARK}`,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
        ...(isRoot && { uid, gid: uid }),
      });
      log = '';
      service.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text;
      });
      await until(() => service.exitCode !== null || log.includes('Server listening at'));
      if (service.exitCode !== null) throw new Error(log);
    };
    const stop = async () => {
      if (service.exitCode !== null || service.signalCode !== null) return;
      service.kill('SIGTERM');
      await once(service, 'exit');
    };

    beforeAll(async () => {
      if (!ran) return;
      folder = mkdtempSync(join(tmpdir(), 'tokenctl-isolation-'));
      chmodSync(folder, 0o755);
      chownSync(folder, uid, uid);
      const free = createServer().listen(0, '127.0.0.1');
      await once(free, 'listening');
      port = (free.address() as { port: number }).port;
      free.close();
      admin = new Client(`http://127.0.0.1:${port}`, basic(ADMIN.username, ADMIN.password));
      await start();
      const projects = join(folder, 'data', 'projects');
      mkdirSync(join(projects, 'other_project'));
      writeFileSync(join(projects, 'other_project', 'secret.yml'), MARK);
      writeFileSync(join(projects, 'demo_project', 'probe.py'), PROBE, { mode: 0o600 });
      writeFileSync(join(projects, 'demo_project', 'probe.yml'), PLAYBOOK);
      writeFileSync(join(projects, 'demo_project', 'leaving.yml'), LEAVING);
      for (const name of readdirSync(projects, { recursive: true })) {
        chownSync(join(projects, String(name)), uid, uid);
      }
      const localhost = (await admin.get('/api/v2/hosts/')).json.results[0] as Body;
      await admin.patch(String(localhost['url']), { variables: 'ansible_connection: local' });
    });
    afterAll(async () => {
      if (!ran) return;
      await stop();
      rmSync(folder, { recursive: true });
    });

    const launch = async (playbook: string, extra_vars: object): Promise<number> => {
      const url = '/api/v2/job_templates/1/';
      expect((await admin.patch(url, { playbook, extra_vars })).status).toBe(200);
      return (await admin.post(`${url}launch/`)).json.id;
    };
    const ended = async (id: number): Promise<{ job: Body; output: string }> => {
      const job = await until(
        async () => (await admin.get(`/api/v2/jobs/${id}/`)).json,
        ({ finished }) => finished !== null,
      );
      return { job, output: (await admin.get(`/api/v2/jobs/${id}/stdout/?format=txt`)).text };
    };
    /** What a job reached. */
    const probe = async () => {
      const { hostname, port: databasePort } = new URL(inject('postgresUrl'));
      const data = join(folder, 'data');
      const given = {
        mark: MARK,
        pid: service.pid,
        paths: [
          folder,
          data,
          join(data, 'projects', 'other_project', 'secret.yml'),
          dirname(PROGRAM),
          '/root',
          '/var',
          '/run',
        ],
        addresses: [
          ['127.0.0.1', port],
          [hostname, Number(databasePort)],
        ],
      };
      const { job, output } = await ended(await launch('probe.yml', { probe: given }));
      expect([job['status'], output]).toEqual(['successful', expect.stringContaining('REACHED ')]);
      return JSON.parse((/REACHED (\[.*\])/.exec(output)?.[1] ?? '').replaceAll('\\"', '"')) as string[];
    };

    it.skipIf(!ran)('reaches nothing of the service, and its network with --jobs-network only', async () => {
      expect(log).toContain('playbooks run in a sandbox without a network');
      expect(await probe()).toEqual([]);
      await stop();
      await start('--jobs-network');
      expect(await probe()).toEqual([`address ['127.0.0.1', ${port}]`, expect.stringMatching(/^address /)]);
      expect(readdirSync(folder).filter((name) => name.startsWith('tokenctl-job-'))).toEqual([]);
    });

    it.skipIf(!ran || !inject('longTests'))('leaves no process behind', async () => {
      const alive = (seconds: number) =>
        readdirSync('/proc').filter((name) => {
          try {
            return readFileSync(join('/proc', name, 'cmdline'), 'utf8') === `sleep\0${seconds}\0`;
          } catch {
            return false;
          }
        }).length;
      const started = (seconds: number) => until(() => alive(seconds) === 3);
      const gone = (seconds: number) => until(() => alive(seconds) === 0);
      const canceled = await launch('leaving.yml', { seconds: 98_761, wait: 600 });
      await started(98_761);
      await admin.post(`/api/v2/jobs/${canceled}/cancel/`);
      expect((await ended(canceled)).job['status']).toBe('canceled');
      await gone(98_761);
      const left = await launch('leaving.yml', { seconds: 98_762, wait: 1 });
      expect((await ended(left)).job['status']).toBe('successful');
      await gone(98_762);
      await launch('leaving.yml', { seconds: 98_763, wait: 600 });
      await started(98_763);
      service.kill('SIGKILL');
      await gone(98_763);
    });
  },
);
