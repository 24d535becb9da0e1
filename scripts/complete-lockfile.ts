// Completes package-lock.json for platforms that the registry at hand has no packages for. From such a
// registry npm writes a lock file without them, which `npm ci` then refuses. Each gets the entry that npm
// would have written: version and platform; on its platform, npm fetches it by these.
// Run after changing dependencies: node scripts/complete-lockfile.ts
import { readFileSync, writeFileSync } from 'node:fs';

/** What is needed of a lock file's entry. */
interface LockEntry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockEntry> };

/** `…-linux-arm64-musl` is for Linux on arm64 with musl. */
function platformOf(name: string): object | null {
  const match =
    /-(android|darwin|freebsd|linux|openharmony|win32)-(arm64|arm|ia32|ppc64|riscv64|s390x|x64)(?:-(\w+))?$/.exec(
      name,
    );
  if (match === null) return null;
  const [, os, cpu, abi = ''] = match;
  const libc = abi.startsWith('musl') ? ['musl'] : abi.startsWith('gnu') ? ['glibc'] : undefined;
  return { cpu: [cpu], ...(libc && { libc }), os: [os] };
}

const missing = Object.entries(lock.packages).flatMap(([, { optionalDependencies = {}, dev }]) =>
  Object.entries(optionalDependencies).flatMap(([name, version]) => {
    const path = `node_modules/${name}`;
    const platform = platformOf(name);
    if (path in lock.packages || platform === null) return [];
    return [
      [
        path,
        { version: version.replace(/^[\^~]/, ''), ...platform, ...(dev && { dev }), optional: true },
      ] as const,
    ];
  }),
);
const sorted = Object.entries({ ...lock.packages, ...Object.fromEntries(missing) }).sort(([one], [other]) =>
  one < other ? -1 : 1,
);
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
console.log(`${missing.length} entries added`);
