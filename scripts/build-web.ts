// Bundles the web interface of the service (service/web) into dist/web, and the console (src/web/console) into
// dist/web-console: hashed files, compressed ones beside them, and the licences of the packages in them. Fails where a
// first view is larger than its budget.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, gzipSync } from 'node:zlib';
import { DASHBOARD_READS, ME } from '@tokenctl/service/web/first-reads.ts';
import { build, type Plugin, type Rolldown } from 'vite';
import { unlessMade } from './stamp.ts';

/** What a first view may transfer, in bytes of gzip: the page, its scripts and styles. */
const BUDGET = 260_000;

/** An application for browsers. */
interface WebApp {
  readonly source: string;
  /** Its folder in dist. */
  readonly out: string;
}

const APPS: readonly WebApp[] = [
  { source: 'service/web', out: 'web' },
  { source: 'src/web/console', out: 'web-console' },
];

/**
 * The first view loads one script, with all that it imports, and one style sheet: a browser has six connections, which
 * are for the answers that the page shows as well.
 */
const LOADED_TOGETHER = [{ name: 'main', test: /\/web\/(?:\w+\/)?main\.tsx$/ }];

/** The licences of the packages that modules are from, as a text. */
type Licenses = (modules: readonly string[]) => string;

/**
 * Builds each application into its folder in `dist` of `root`, unless it was built from the same sources before.
 *
 * @throws Error if a package warns, or a first view is too large.
 */
export async function buildWeb(root: string, licensesOf: Licenses): Promise<void> {
  for (const app of APPS) {
    const out = join(root, 'dist', app.out);
    const sources = ['package-lock.json', 'scripts/build-web.ts', `{common/web,${app.source}}/**/*.*`];
    await unlessMade({ root, stamp: join(out, 'sources.sha256'), sources }, () =>
      buildApp(join(root, app.source), { out, licensesOf }),
    );
  }
}

async function buildApp(source: string, { out, licensesOf }: { out: string; licensesOf: Licenses }) {
  const output = await bundleWeb(source, out);
  if (basename(out) === 'web') writePages(out);
  const firstView = firstViewSize(output, readFileSync(join(out, 'index.html'), 'utf8'));
  if (firstView > BUDGET) {
    throw new Error(`The first view of ${source} is ${firstView} bytes; the budget is ${BUDGET}.`);
  }
  await Promise.all(
    globSync('**/*.{js,css,svg,html}', { cwd: out }).map((file) => compress(join(out, file))),
  );
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  writeFileSync(join(out, 'third-party-licenses.txt'), licensesOf(modules));
}

/**
 * Bundles the page of a folder and all that it loads into another folder, without PatternFly's fonts.
 *
 * @throws Error if a package warns.
 */
export async function bundleWeb(source: string, out: string): Promise<Output> {
  const { output } = (await build({
    root: source,
    configFile: false,
    logLevel: 'warn',
    plugins: [withoutFonts(), largestFirst()],
    build: {
      outDir: out,
      emptyOutDir: true,
      // The Content-Security-Policy allows no data: URLs.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1000,
      rolldownOptions: {
        input: join(source, 'index.html'),
        // A slow machine is no fault of the sources.
        checks: { pluginTimings: false },
        output: { codeSplitting: { groups: LOADED_TOGETHER } },
        onLog(level, { code, message }) {
          // Packages mark their modules for servers that render them, which is not done here.
          if (level === 'warn' && code !== 'MODULE_LEVEL_DIRECTIVE') throw new Error(message);
        },
      },
    },
  })) as Rolldown.RolldownOutput;
  return output;
}

/** Writes the pages of the service, which name what they read first, after the scripts: one for `/`, and `index.html`. */
function writePages(out: string): void {
  const index = readFileSync(join(out, 'index.html'), 'utf8');
  const write = (file: string, reads: readonly string[]) => {
    const links = reads.map((path) => {
      const href = path.replaceAll('&', '&amp;');
      return `  <link rel="preload" as="fetch" crossorigin href="${href}">\n  `;
    });
    writeFileSync(join(out, file), index.replace('</head>', `${links.join('')}</head>`));
  };
  write('dashboard.html', [ME, ...DASHBOARD_READS]);
  write('index.html', [ME]);
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

/** Names the styles and the large script of the first view before the little one that it imports. */
function largestFirst(): Plugin {
  return {
    name: 'largest-first',
    transformIndexHtml: {
      order: 'post',
      handler(html) {
        const tags = html.match(/ *<(script|link) [^>]*"\/assets\/.*\n/g) ?? [];
        return html.replace(tags.join(''), tags.toReversed().join(''));
      },
    },
  };
}

type Output = readonly (Rolldown.OutputAsset | Rolldown.OutputChunk)[];

/** The bytes of gzip that a browser loads for the first page: the document, and the scripts and styles that it names. */
function firstViewSize(output: Output, page: string): number {
  const named = output.filter(({ fileName }) => page.includes(`"/${fileName}"`));
  const contents = named.map((file) => (file.type === 'chunk' ? file.code : file.source));
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
