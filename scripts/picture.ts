// Draws docs/terminal.svg: real commands against a real service with a sample estate, and what they print.
// Run: npm run build && node scripts/picture.ts
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DemoService, startDemoService } from '../src/app/demo/stage.ts';

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

/** Runs a command and takes down what both of its streams print, in the order in which they did. */
async function record(stage: DemoService, command: string): Promise<Line[]> {
  const child = spawn('sh', ['-c', `"$0" "$1" ${command} 2>&1`, process.execPath, `${root}bin/tokenctl.js`], {
    env: { ...stage.environment, COLUMNS: String(WIDTH) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const part of child.stdout.setEncoding('utf8')) printed += part;
  const lines = printed.trimEnd().replaceAll(stage.folder, '/home/admin/.local/state').split('\n');
  return [
    { typed: true, text: `tokenctl ${command}` },
    ...lines.flatMap(wrapped).map((text) => ({ typed: false, text })),
    { typed: false, text: '' },
  ];
}

/** Long lines go on in the next one, as on a terminal. */
function wrapped(line: string): string[] {
  return line.match(new RegExp(`.{1,${WIDTH}}`, 'g')) ?? [''];
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
    return `<text x="${PADDING}" y="${y}"${kind}>${prompt}${escapeXml(text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="tokenctl at work in a terminal">
<style>
rect { fill: #14181d; }
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d4d9df; white-space: pre; }
.typed { fill: #ffffff; font-weight: bold; }
.prompt { fill: #7fc98a; }
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
    'log verify',
  ];
  const named = stage.estate.users[18]?.username ?? '';
  const lines: Line[] = [];
  for (const command of commands) lines.push(...(await record(stage, command.replace('USER', named))));
  writeFileSync(`${root}docs/terminal.svg`, draw(lines));
} finally {
  await stage.close();
}
