import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE } from './node-runtime.ts';
import { installedEntries, root } from './published-package.ts';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

interface BillOfMaterials {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

/**
 * The software bill of materials in CycloneDX: the packages that are installed, those whose code is bundled into dist/, and the
 * Node.js of the archives. SOURCE_DATE_EPOCH has to be set.
 */
export function billOfMaterials(): string {
  const options = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const output = execFileSync('npm', options, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // What differs from build to build: an optional number, and the time, which is that of the sources.
  const { serialNumber: _, ...all } = JSON.parse(output) as BillOfMaterials & {
    readonly serialNumber: string;
  };
  // npm names the program by the folder of the checkout.
  const component = { ...all.metadata.component, name: 'tokenctl' };
  const timestamp = new Date(Number(process.env['SOURCE_DATE_EPOCH']) * 1000).toISOString();
  const installed = [...installedEntries()].map(
    ([path, { version }]) =>
      `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)} ${version}`,
  );
  const released = new Set([...installed, ...bundledPackages()]);
  const components = all.components.filter(({ name, version }) => released.has(`${name} ${version}`));
  const refs = new Set(components.map((component) => component['bom-ref']));
  // The workspaces are in the program: what they depend on, it does.
  const [program, ...others] = all.dependencies;
  const own = all.dependencies.filter(({ ref }) => ref.startsWith('@tokenctl/'));
  const ofProgram = [program, ...own].flatMap((each) => each?.dependsOn ?? []);
  const dependencies = [
    { ref: program?.ref, dependsOn: [...new Set(ofProgram)].filter((each) => refs.has(each)) },
    ...others
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) })),
  ];
  const node = {
    'bom-ref': `node@${NODE.version}`,
    type: 'application',
    name: 'node',
    version: NODE.version,
    scope: 'required',
    purl: `pkg:generic/node@${NODE.version}`,
    licenses: [{ license: { id: 'MIT' } }],
  };
  return `${JSON.stringify({ ...all, metadata: { ...all.metadata, timestamp, component }, components: [...components, node], dependencies }, null, 2)}\n`;
}

/** `NAME VERSION` of each package in the program and the web interface, as the build lists them with their licences. */
function bundledPackages(): ReadonlySet<string> {
  const texts = ['dist', 'dist/web', 'dist/web-console'].map((folder) =>
    readFileSync(join(root, folder, 'third-party-licenses.txt'), 'utf8'),
  );
  const parts = texts.flatMap((text) => text.split(/^-{80}\n\n/m));
  const headings = parts.map((part) => /^(\S+ \S+) \(/.exec(part)?.[1]);
  return new Set(headings.filter((heading) => heading !== undefined));
}
