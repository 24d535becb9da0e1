import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the documentation. */
export const PAGES = join(import.meta.dirname, '../../../docs');

interface DocumentedCommand {
  /** Without the program's name. */
  readonly command: string;
  /** The exit code that the page says it ends with. */
  readonly says: number;
}

/**
 * The commands of a page, as they stand there: indented lines that begin with the program's name. Each with the exit
 * code that the paragraph before says it ends with, otherwise 0.
 */
export function commandsOf(name: string): readonly DocumentedCommand[] {
  const text = readFileSync(join(PAGES, `${name}.md`), 'utf8');
  const paragraphs = text.split('\n\n');
  return paragraphs.flatMap((paragraph, index) => {
    const before = paragraphs[index - 1]?.replaceAll('\n', ' ') ?? '';
    const says = Number(/(?:ends with exit code|exits with) (\d+)\b[^.]*:$/.exec(before)?.[1] ?? 0);
    return paragraph
      .split('\n')
      .flatMap((line) => /^ {4,7}tokenctl ([^>#]+)/.exec(line)?.[1]?.trim() ?? [])
      .map((command) => ({ command, says }));
  });
}

/** A command's words, quotes taken off, with the ids of this run, and agreed to beforehand where it asks. */
export function argumentsOf(command: string, ids: Readonly<Record<string, string>>): string[] {
  const words = Array.from(command.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, bare]) => quoted ?? bare ?? '');
  const asks = words.includes('--dry-run')
    ? false
    : /^(incident (clean|lockdown|lift)|users offboard|tokens (revoke|create|rotate|sunset)|applications rotate|signals (release|dismiss))|--revoke|leases .*--(end|due)/.test(
        command,
      );
  const final = command.startsWith('incident clean') ? ['--irreversible'] : [];
  return [...words.map((word) => ids[word] ?? word), ...(asks ? ['--yes', ...final] : [])];
}
