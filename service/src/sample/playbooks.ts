/** A task of a sample playbook. It changes nothing on any machine, whatever its name says. */
interface SampleTask {
  readonly name: string;
  readonly isChange: boolean;
  /** The printed message, with `HOST` in place of the host's name. Without it, the task prints nothing. */
  readonly message?: string | undefined;
}

export interface SamplePlaybook {
  readonly play: string;
  readonly tasks: readonly SampleTask[];
  /** Possible reasons for a failure. */
  readonly causes: readonly string[];
}

const task = (name: string, message?: string): SampleTask => ({ name, isChange: false, message });
const change = (name: string, message?: string): SampleTask => ({ ...task(name, message), isChange: true });

export const PLAYBOOKS = {
  'deploy.yml': {
    play: 'Deploy the web application',
    tasks: [
      task('Check the release'),
      change('Take the host out of the load balancer', 'HOST gets no requests'),
      change('Install the release'),
      change('Restart the application'),
      task('Wait until the application answers', 'HOST answered with 200'),
      change('Put the host back into the load balancer'),
    ],
    causes: [
      'Status code was 503 and not [200]: HTTP Error 503: Service Unavailable',
      'Timeout when waiting for 127.0.0.1:8443',
      'Could not find or access the release: HTTP Error 404: Not Found',
    ],
  },
  'backup.yml': {
    play: 'Save the databases',
    tasks: [
      task('Look for free space'),
      change('Dump the database', 'HOST: dump complete'),
      change('Copy the dump to the archive'),
      change('Remove dumps of last month'),
    ],
    causes: ['No space left on device', 'pg_dump: error: connection to server failed'],
  },
  'certificates.yml': {
    play: 'Look for certificates that expire soon',
    tasks: [
      task('Read the certificates'),
      task('Compare their dates', 'HOST: no certificate expires within 30 days'),
    ],
    causes: ['The certificate expires in 6 days'],
  },
  'patch.yml': {
    play: 'Install updates',
    tasks: [
      task('List updates'),
      change('Install updates'),
      task('Check whether a restart is needed'),
      change('Restart the host', 'HOST is back'),
      task('Check the services'),
    ],
    causes: [
      'Failed to lock apt for exclusive operation: Failed to lock directory /var/lib/apt/lists/',
      'Timed out waiting for last boot time check (timeout=600)',
    ],
  },
  'restart.yml': {
    play: 'Restart a service',
    tasks: [
      task('Read the state of the service'),
      change('Restart the service', 'HOST: the service is running'),
    ],
    causes: ['Unable to restart service: Job for the service failed. See "systemctl status" for details.'],
  },
} as const satisfies Readonly<Record<string, SamplePlaybook>>;

/** A playbook's text. `ansible-playbook` can run it anywhere, because it only sets facts and prints. */
export function playbookText({ play, tasks }: SamplePlaybook): string {
  const texts = tasks.map(({ name, isChange, message }) => {
    const module =
      message === undefined
        ? '      ansible.builtin.set_fact:\n        done: true\n'
        : `      ansible.builtin.debug:\n        msg: "${message.replace('HOST', '{{ inventory_hostname }}')}"\n`;
    return `    - name: ${name}\n${module}${isChange ? '      changed_when: true\n' : ''}`;
  });
  return `---\n- name: ${play}\n  hosts: all\n  gather_facts: false\n  tasks:\n${texts.join('\n')}`;
}
