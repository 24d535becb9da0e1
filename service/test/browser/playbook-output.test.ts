import { describe, expect, it } from 'vitest';
import { printRun } from '../../src/sample/output.ts';
import { PLAYBOOKS } from '../../src/sample/playbooks.ts';
import { hostsOf, linesWith, piecesOf, readPlaybookOutput } from '../../web/jobs/playbook-output.ts';

const OUTPUT = `[WARNING]: Could not match supplied host pattern, ignoring: none

PLAY [Deploy [blue]] ***********************************************************

TASK [Say] *********************************************************************
ok: [web1] => {
    "msg": "hello \\"x\\""
}
ok: [web2] => (item=a) => {
    "msg": "hi"
}
changed: [web3 -> localhost]

RUNNING HANDLER [Restart] ******************************************************
fatal: [web1]: FAILED! => {"changed": false, "msg": "broken"}
...ignoring
fatal: [web2]: UNREACHABLE! => {"changed": false, "msg": "no route", "unreachable": true}
failed: [web3] (item=b) => {"msg": "no b"}
skipping: [web4]
`;
const RECAP = `
PLAY RECAP *********************************************************************
web1                       : ok=1    changed=0    unreachable=0    failed=0    skipped=0    rescued=0    ignored=1   
web2                       : ok=1    changed=0    unreachable=1    failed=0    skipped=0    rescued=0    ignored=0   
web3                       : ok=1    changed=1    unreachable=0    failed=1    skipped=0    rescued=0    ignored=0   
`;

describe('the output of a playbook', () => {
  it('is read as tasks on hosts', () => {
    const { results, kinds, lines } = readPlaybookOutput(OUTPUT + RECAP);
    expect(results.map(({ task, host, result, text }) => [task, host, result, text])).toEqual([
      ['Say', 'web1', 'ok', 'hello "x"'],
      ['Say', 'web2', 'ok', '(item=a): hi'],
      ['Say', 'web3', 'changed', ''],
      ['Restart', 'web1', 'ignored', 'broken'],
      ['Restart', 'web2', 'unreachable', 'no route'],
      ['Restart', 'web3', 'failed', '(item=b): no b'],
      ['Restart', 'web4', 'skipped', ''],
    ]);
    expect(new Set(results.map(({ play }) => play))).toEqual(new Set(['Deploy [blue]']));
    for (const { line, host } of results) expect(lines[line]).toContain(`[${host}`);
    expect(kinds).toBe('w h hooooooc hfsffs hoff');
    expect(kinds).toHaveLength(lines.length);
  });

  it('has the counts of its recap, and before it those of what is there', () => {
    const whole = hostsOf(readPlaybookOutput(OUTPUT + RECAP));
    expect(whole.map(({ host, result }) => [host, result])).toEqual([
      ['web1', 'ok'],
      ['web2', 'unreachable'],
      ['web3', 'failed'],
    ]);
    expect(whole[2]?.counts).toMatchObject({ ok: 1, changed: 1, failed: 1 });
    const sofar = hostsOf(readPlaybookOutput(OUTPUT));
    expect(sofar.map(({ host, result }) => [host, result])).toEqual([
      ['web1', 'ok'],
      ['web2', 'unreachable'],
      ['web3', 'failed'],
      ['web4', 'skipped'],
    ]);
    expect(hostsOf(readPlaybookOutput('no playbook at all'))).toEqual([]);
  });

  it('is the same for the printed runs of the sample', () => {
    const hosts = ['a', 'b', 'c'];
    const trouble = { result: 'failed', host: 'b', task: 1, cause: 'No space left' } as const;
    const { results, hosts: recap } = readPlaybookOutput(printRun(PLAYBOOKS['backup.yml'], hosts, trouble));
    expect(results).toHaveLength(10);
    expect(results.filter(({ result }) => result === 'failed')).toMatchObject([
      { host: 'b', task: 'Dump the database', text: 'No space left' },
    ]);
    expect(recap.map(({ counts }) => [counts.ok, counts.changed, counts.failed])).toEqual([
      [4, 3, 0],
      [1, 0, 1],
      [4, 3, 0],
    ]);
  });

  it('is searched in any case of letters', () => {
    expect(linesWith(['One two', 'three', 'TWO'], 'two')).toEqual([0, 2]);
    expect(linesWith(['One two'], '')).toEqual([]);
    expect(piecesOf('Two or two', 'TWO')).toEqual(['', 'Two', ' or ', 'two', '']);
    expect(piecesOf('İstanbul', 'i')).toEqual(['İstanbul']);
  });
});
