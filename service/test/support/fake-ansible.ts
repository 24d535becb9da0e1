import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a run does, by its limit: `fail`, `slow`, `stubborn`, `flood`, `recap`; anything else succeeds. */
const SCRIPT = `#!/bin/sh
for argument in "$@"; do echo "argument: $argument"; done
env | sort
cat "$2"
cat "$(echo "$3" | cut -d@ -f2-)"
case "$*" in
  *--limit=fail*) echo 'something broke' >&2; exit 2 ;;
  *--limit=slow*) echo 'begun'; sleep 60 ;;
  *--limit=stubborn*) trap '' TERM; echo 'begun'; while :; do sleep 1; done ;;
  *--limit=recap*)
    echo; echo 'PLAY RECAP *****'
    echo 'web1   : ok=2    changed=0    unreachable=0    failed=0    skipped=0'
    echo 'web2   : ok=1    changed=0    unreachable=0    failed=1    skipped=0'
    echo 'web3   : ok=0    changed=0    unreachable=1    failed=0    skipped=0'
    exit 2 ;;
  *--limit=flood*) head -c 6000000 /dev/zero | tr '\\0' 'x' ;;
esac
`;

/** Puts an `ansible-playbook` of the tests' own into a folder, and returns a PATH that begins with it. */
export function fakeAnsible(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-ansible-'));
  writeFileSync(join(folder, 'ansible-playbook'), SCRIPT, { mode: 0o755 });
  return `${folder}:/usr/bin:/bin`;
}
