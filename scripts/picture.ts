// Draws docs/terminal.svg: a recording of real commands on a terminal (`script` of util-linux makes it), against a real
// service with a sample estate. Nothing is added to what they print, colors included; its folder is shown as the default one.
// Run: npm run build && node scripts/picture.ts
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DemoService, startDemoService } from '../src/app/service/demo-service.ts';

const WIDTH = 112;
const LINE_HEIGHT = 19;
const CHARACTER = 8.43;
const PADDING = 20;
const root = fileURLToPath(new URL('..', import.meta.url));

/** A line of the picture: what was typed, or what was printed. */
interface Line {
  readonly typed: boolean;
  readonly text: string;
}

/** Runs a command on a terminal of its own, and returns the lines that the screen shows afterwards. */
async function record(stage: DemoService, command: string): Promise<Line[]> {
  const typed = `stty cols ${WIDTH}; '${process.execPath}' '${root}bin/tokenctl.js' ${command}`;
  const child = spawn('/usr/bin/script', ['-qec', typed, '/dev/null'], {
    env: { ...stage.environment, TERM: 'xterm-256color' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const part of child.stdout.setEncoding('utf8')) printed += part;
  const lines = printed.trimEnd().replaceAll(stage.folder, '~/.local/state').split(/\r?\n/);
  return [
    { typed: true, text: `tokenctl ${command}` },
    ...lines.map((line) => ({ typed: false, text: lastDrawing(line) })),
    { typed: false, text: '' },
  ];
}

/** A progress line is drawn over itself. */
function lastDrawing(line: string): string {
  return line.slice(line.lastIndexOf('\r') + 1).replace(`${ESCAPE}[2K`, '');
}

const ESCAPE = '\u001b';

/** The classes of the codes that the program uses (ECMA-48, SGR); 22 and 39 end them. */
const CLASSES: Readonly<Record<string, string>> = {
  '1': 'strong',
  '2': 'faint',
  '31': 'bad',
  '32': 'good',
  '33': 'warning',
};

/** A line with its colors as spans. */
function colored(line: string): string {
  const on = new Set<string>();
  return line
    .split(ESCAPE)
    .map((part, index) => {
      const [code = '', digits = ''] = index === 0 ? [] : (/^\[(\d+)m/.exec(part) ?? []);
      if (digits === '22') for (const name of ['strong', 'faint']) on.delete(name);
      else if (digits === '39') for (const name of ['bad', 'good', 'warning']) on.delete(name);
      else if (CLASSES[digits] !== undefined) on.add(CLASSES[digits]);
      const text = escapeXml(part.slice(code.length));
      return on.size === 0 || text === '' ? text : `<tspan class="${[...on].join(' ')}">${text}</tspan>`;
    })
    .join('');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function draw(lines: readonly Line[]): string {
  const width = Math.ceil(WIDTH * CHARACTER + 2 * PADDING);
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const rows = lines.map(({ typed, text }, index) => {
    const y = PADDING + (index + 1) * LINE_HEIGHT - 5;
    const prompt = typed ? '<tspan class="prompt">$ </tspan>' : '';
    const kind = typed ? ' class="typed"' : '';
    return `<text x="${PADDING}" y="${y}"${kind}>${prompt}${typed ? escapeXml(text) : colored(text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="tokenctl at work in a terminal">
<style>
rect { fill: #14181d; }
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d4d9df; white-space: pre; }
.typed { fill: #ffffff; font-weight: bold; }
.prompt { fill: #7fc98a; }
.strong { font-weight: bold; }
.faint { fill: #8b949e; }
.bad { fill: #ff7b72; }
.good { fill: #7ee787; }
.warning { fill: #e3b341; }
</style>
<rect width="${width}" height="${height}" rx="10"/>
${rows.join('\n')}
</svg>
`;
}

const stage = await startDemoService('0.1.0', process.env);
try {
  const commands = [
    'tokens audit --summary',
    'tokens revoke --user USER --yes --reason "laptop stolen" --ticket SEC-7',
    'log list',
    'log verify',
  ];
  const named = stage.estate.users[18]?.username ?? '';
  const lines: Line[] = [];
  for (const command of commands) lines.push(...(await record(stage, command.replace('USER', named))));
  writeFileSync(`${root}docs/terminal.svg`, draw(lines));
} finally {
  await stage.close();
}
