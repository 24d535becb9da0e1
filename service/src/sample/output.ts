import type { SamplePlaybook } from './playbooks.ts';

/** Where a run fails: at a task on a host, or for all hosts if it is stopped. */
export interface Trouble {
  readonly result: 'failed' | 'unreachable' | 'stopped';
  readonly host: string;
  /** The index of the task. */
  readonly task: number;
  readonly cause: string;
}

/** The width of lines with stars, as without a terminal. */
const WIDTH = 80;

function banner(text: string): string {
  return `\n${text} ${'*'.repeat(Math.max(3, WIDTH - 1 - text.length))}\n`;
}

interface Counts {
  ok: number;
  changed: number;
  unreachable: number;
  failed: number;
}

/** The output of `ansible-playbook` for a run, with its default callback and without colors. */
export function printRun(
  { play, tasks }: SamplePlaybook,
  hosts: readonly string[],
  trouble: Trouble | null,
): string {
  const counts = new Map<string, Counts>();
  for (const host of hosts) counts.set(host, { ok: 0, changed: 0, unreachable: 0, failed: 0 });
  const printed = [banner(`PLAY [${play}]`)];
  for (const [position, task] of tasks.entries()) {
    printed.push(banner(`TASK [${task.name}]`));
    const atTask = trouble?.task === position ? trouble : null;
    if (atTask?.result === 'stopped') return printed.join('');
    for (const [host, count] of counts) {
      // After a failed task, a host runs no further ones.
      if (count.failed + count.unreachable > 0) continue;
      const failure = atTask?.host === host ? atTask : null;
      addResult(count, { isChange: task.isChange, failure });
      printed.push(failure === null ? resultText(host, task) : failureText(failure));
    }
  }
  printed.push(banner('PLAY RECAP'));
  for (const [host, count] of counts) printed.push(`${host.padEnd(26)} : ${recapText(count)}\n`);
  return printed.join('');
}

function addResult(counts: Counts, { isChange, failure }: { isChange: boolean; failure: Trouble | null }) {
  if (failure !== null) counts[failure.result === 'unreachable' ? 'unreachable' : 'failed'] += 1;
  else {
    counts.ok += 1;
    if (isChange) counts.changed += 1;
  }
}

function resultText(host: string, { isChange, message }: SamplePlaybook['tasks'][number]): string {
  return `${isChange ? 'changed' : 'ok'}: [${host}]${messageText(host, message)}\n`;
}

function messageText(host: string, message: string | undefined): string {
  if (message === undefined) return '';
  return ` => {\n    "msg": ${JSON.stringify(message.replace('HOST', host))}\n}`;
}

function failureText({ result, host, cause }: Trouble): string {
  if (result === 'unreachable') {
    const msg = `Failed to connect to the host via ssh: connect to host ${host} port 22: Connection timed out`;
    return `fatal: [${host}]: UNREACHABLE! => ${json({ changed: false, msg, unreachable: true })}\n`;
  }
  return `fatal: [${host}]: FAILED! => ${json({ changed: false, msg: cause })}\n`;
}

/** As Ansible prints it, with a space after each separator. */
function json(values: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(values).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
  return `{${pairs.join(', ')}}`;
}

function recapText(counts: Counts): string {
  const all = { ...counts, skipped: 0, rescued: 0, ignored: 0 };
  return Object.entries(all)
    .map(([name, count]) => `${name}=${String(count).padEnd(4)}`)
    .join(' ');
}
