// Bundles the web interface of the service (src/web/service) into dist/web, and the console (src/web/console) into
// dist/web-console: hashed files, compressed ones beside them, and the licences of the packages in them. Fails where a
// first view is larger than its budget.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, gzipSync } from 'node:zlib';
import { build, type Plugin, type Rolldown } from 'vite';

/** What a first view may transfer, in bytes of gzip: the page, its scripts and styles, and those of its first page. */
const BUDGET = 250_000;

/** An application for browsers. */
interface WebApp {
  /** Its folder in src/web. */
  readonly name: string;
  /** Its folder in dist. */
  readonly out: string;
  /** The module of the page that is shown first. */
  readonly firstPage: string;
}

const APPS: readonly WebApp[] = [
  { name: 'service', out: 'web', firstPage: 'service/dashboard.tsx' },
  { name: 'console', out: 'web-console', firstPage: 'console/overview.tsx' },
];

/** What the built files were made from: without a change, they stay as they are. */
const STAMP = 'sources.sha256';

/**
 * Builds each application into its folder in `dist` of `root`, unless it was built from the same sources before.
 *
 * @param licensesOf The licences of the packages that modules are from, as a text.
 * @throws Error if a package warns, or a first view is too large.
 */
export async function buildWeb(
  root: string,
  licensesOf: (modules: readonly string[]) => string,
): Promise<void> {
  for (const app of APPS) await buildApp(app, root, licensesOf);
}

async function buildApp(
  { name, out: folder, firstPage }: WebApp,
  root: string,
  licensesOf: (modules: readonly string[]) => string,
): Promise<void> {
  const out = join(root, 'dist', folder);
  const stamp = stampOf(root, name);
  const stampFile = join(out, STAMP);
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  const { output } = (await build({
    root: join(root, 'src/web', name),
    configFile: false,
    logLevel: 'warn',
    plugins: [withoutFonts()],
    build: {
      outDir: out,
      emptyOutDir: true,
      // The Content-Security-Policy allows no data: URLs.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1000,
      rolldownOptions: {
        // A slow machine is no fault of the sources.
        checks: { pluginTimings: false },
        onLog(level, { code, message }) {
          // Packages mark their modules for servers that render them, which is not done here.
          if (level === 'warn' && code !== 'MODULE_LEVEL_DIRECTIVE') throw new Error(message);
        },
      },
    },
  })) as Rolldown.RolldownOutput;
  const firstView = firstViewSize(output, { page: readFileSync(join(out, 'index.html')), firstPage });
  if (firstView > BUDGET) {
    throw new Error(`The first view of src/web/${name} is ${firstView} bytes; the budget is ${BUDGET}.`);
  }
  await Promise.all(
    globSync('**/*.{js,css,svg,html}', { cwd: out }).map((file) => compress(join(out, file))),
  );
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  writeFileSync(join(out, 'third-party-licenses.txt'), licensesOf(modules));
  writeFileSync(stampFile, stamp);
}

/** A digest of everything that the output of an application depends on. */
function stampOf(root: string, name: string): string {
  const hash = createHash('sha256');
  const files = [
    'package-lock.json',
    'scripts/build-web.ts',
    ...globSync(`src/web/{shared,${name}}/**/*.*`, { cwd: root }),
  ];
  for (const file of files.toSorted()) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Leaves out PatternFly's fonts, which would be a third of the first view: the system's are used. */
function withoutFonts(): Plugin {
  return {
    name: 'without-fonts',
    enforce: 'pre',
    transform: {
      filter: { id: /\/@patternfly\/.*\.css$/ },
      handler: (code) => ({ code: code.replace(/@font-face\s*\{[^}]*\}/g, ''), map: null }),
    },
  };
}

type Output = readonly (Rolldown.OutputAsset | Rolldown.OutputChunk)[];

/** The bytes of gzip that a browser loads for the first page. */
function firstViewSize(
  output: Output,
  { page, firstPage }: { readonly page: Buffer; readonly firstPage: string },
): number {
  const files = new Map(output.map((file) => [file.fileName, file]));
  const needed = new Set<string>();
  const add = (name: string) => {
    const file = files.get(name);
    if (file === undefined || needed.has(name)) return;
    needed.add(name);
    if (file.type !== 'chunk') return;
    file.imports.forEach(add);
    file.viteMetadata?.importedCss.forEach(add);
  };
  for (const file of output) {
    if (file.type !== 'chunk') continue;
    if (file.isEntry || file.facadeModuleId?.endsWith(firstPage)) add(file.fileName);
  }
  const contents = [...needed].map((name) => {
    const file = files.get(name);
    return file?.type === 'chunk' ? file.code : (file?.source ?? '');
  });
  return [page, ...contents].reduce((sum, content) => sum + gzipSync(content).length, 0);
}

/** Writes a file's compressed forms beside it, unless they are hardly smaller. */
async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  const forms = [
    ['br', await promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })],
    ['gz', await promisify(gzip)(content, { level: 9 })],
  ] as const;
  for (const [suffix, compressed] of forms) {
    const path = `${file}.${suffix}`;
    if (compressed.length < content.length * 0.9) await writeFile(path, compressed);
    else await rm(path, { force: true });
  }
}
