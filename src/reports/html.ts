import { escapeHtml } from '@tokenctl/common/text.ts';
import { printable } from './tables/text.ts';

/**
 * Escapes text for an HTML document, in content or in quoted attributes. Names and descriptions are
 * untrusted: they must not become markup or reorder the surrounding text.
 */
export function html(text: string): string {
  return escapeHtml(printable.value(text));
}

/** The style sheet: light or dark like the reader's system, and plain on paper. */
const STYLE = `
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--text:#1c2430;--muted:#5d6b7e;--line:#dfe4ea;--track:#eceff3;--bar:#2f6fb5;--critical:#b42318;--high:#b0450f;--medium:#8a6a00;--low:#4a6584;--day1:#c6dcf2;--day2:#86b4e0;--day3:#4585c4;--day4:#1d5289}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--card:#1b212a;--text:#e6eaf0;--muted:#9aa7b8;--line:#2d3541;--track:#262e39;--bar:#5b9ee6;--critical:#ff7a6e;--high:#ff9f5f;--medium:#e5be4a;--low:#9db7d4;--day1:#1f3a56;--day2:#2c5f92;--day3:#4a8fd2;--day4:#9cc8f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:24px;margin:0 0 2px}h2{font-size:17px;margin:34px 0 10px}
p{margin:0 0 8px}.muted,.legend{color:var(--muted)}.legend{font-size:13px;margin-top:10px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(120px,1fr));gap:12px;margin:20px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px}
.tile b{display:block;font-size:25px;line-height:1.2;font-variant-numeric:tabular-nums}
.tile span{color:var(--muted);font-size:13px}
.critical b,td.critical{color:var(--critical)}.high b,td.high{color:var(--high)}.medium b,td.medium{color:var(--medium)}.low b,td.low{color:var(--low)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(400px,100%),1fr));gap:12px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px}
figure.wide{grid-column:1/-1}
figure:not(.wide) svg{max-width:400px}
figcaption{font-weight:600;margin-bottom:8px}
svg{display:block;width:100%;height:auto}svg.inline{display:inline-block;width:65px;height:11px;vertical-align:-1px}
svg text{fill:var(--text);font-size:13px;dominant-baseline:central}svg .small{font-size:9px;fill:var(--muted)}svg .number{font-variant-numeric:tabular-nums}
.track{fill:var(--track)}.bar{fill:var(--bar)}
.level0{fill:var(--track)}.level1{fill:var(--day1)}.level2{fill:var(--day2)}.level3{fill:var(--day3)}.level4{fill:var(--day4)}
.sideways{overflow-x:auto}.sideways svg{min-width:720px}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
.scroll+p{margin-top:12px}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;padding:7px 12px;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}
th{font-size:12px;letter-spacing:.03em;text-transform:uppercase;color:var(--muted);white-space:nowrap}
h3{font-size:15px;margin:22px 0 4px}.severity{font-weight:600}span.critical{color:var(--critical)}span.high{color:var(--high)}span.medium{color:var(--medium)}span.low{color:var(--low)}
td.fixed,td.name{white-space:nowrap}td.severity{font-weight:600}td.count{text-align:right;font-variant-numeric:tabular-nums}th.count{text-align:right}
td.text{min-width:12em;overflow-wrap:break-word}.nb{white-space:nowrap}
@media(max-width:640px){.stack thead{position:absolute;clip-path:inset(50%)}.stack,.stack tbody,.stack tr{display:block}.stack tr{padding:8px 12px;border-bottom:1px solid var(--line)}.stack tr:last-child{border-bottom:0}
.stack td{display:block;border:0;padding:1px 0;min-width:0;text-align:left}.stack td:empty{padding:0}.stack td.short{display:inline;margin-right:12px}td.text{min-width:10em}.stack td[data-label]::before{content:attr(data-label) ": ";color:var(--muted)}}
@media print{body{background:#fff}.tile,figure,.scroll{break-inside:avoid}.scroll{break-inside:auto}}
`;

/**
 * The start of a page without scripts or network access, which `PAGE_END` ends. The title is plain text;
 * `style` is added to the common rules.
 */
export function pageStart(title: string, style = ''): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>${html(title)}</title>
<style>${STYLE}${style}</style></head>
<body><main>
`;
}

export const PAGE_END = '</main></body></html>\n';
