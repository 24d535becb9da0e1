import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { readInvestigationFile } from '../../cli/investigation/investigation-file.ts';
import { type Environment, stateFolder } from '../../config/paths.ts';
import type { Investigation } from '../../domain/investigation/investigation.ts';
import { type Theft, theftSchema } from './theft.ts';

export interface CaseFile {
  readonly name: string;
  /** The absolute path, for commands. */
  readonly path: string;
  /** By this machine's clock; to the second in files of earlier versions. */
  readonly began: Date;
}

/** The maximum number of a case's investigations: the first has the start, the last the end. */
const MOST_FILES = 20;
const INVESTIGATION = /^investigation-[\dTZ]+\.json$/;
const THEFT = 'theft.json';
const REPORT = /^report-[\dTZ]+\.(?:html|json|md|svg)$/;

/**
 * The files of one incident in the state folder, for this user only: its investigations and reports, and what
 * is known of the theft.
 */
export class CaseFiles {
  readonly #folder: string;
  /** The parsed files, by path and modification time. */
  readonly #read = new Map<string, { readonly changed: number; readonly investigation: Investigation }>();

  /** @param incident Its whole id. */
  constructor(environment: Environment, incident: string) {
    this.#folder = join(stateFolder(environment), 'cases', incident.replaceAll(/[^\w-]/g, '_'));
  }

  /** The saved investigations, oldest first. */
  investigations(): readonly CaseFile[] {
    return this.#list(INVESTIGATION).map((name) => ({
      name,
      path: join(this.#folder, name),
      began: timeOf(name),
    }));
  }

  investigation(name: string): Investigation {
    const found = this.investigations().find((each) => each.name === name);
    if (found === undefined) throw new TokenctlError('not_found', `This case has no investigation "${name}"`);
    const changed = statSync(found.path).mtimeMs;
    const known = this.#read.get(name);
    if (known?.changed === changed) return known.investigation;
    const investigation = readInvestigationFile(found.path);
    this.#read.set(name, { changed, investigation });
    return investigation;
  }

  /** The path of a new investigation. Throws `busy` if the case has the maximum number. */
  newInvestigation(now: Date): string {
    if (this.investigations().length >= MOST_FILES) {
      throw new TokenctlError('busy', `The case has ${MOST_FILES} investigations`, {
        hint: `Move some of them out of ${this.#folder}.`,
      });
    }
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    let at = now.getTime();
    const path = () => join(this.#folder, `investigation-${stampOf(new Date(at))}.json`);
    while (existsSync(path())) at += 1;
    return path();
  }

  /** Stores a report; returns its path. */
  keepReport(text: string, { extension, now }: { extension: string; now: Date }): string {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, `report-${stampOf(now)}.${extension}`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Stores what is known of the theft; absent members keep their values. */
  keepTheft(theft: Theft): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, THEFT);
    writeFileSync(`${path}.new`, JSON.stringify({ ...this.theft(), ...theft }), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  /** What is known of the theft; nothing if the file is unreadable. */
  theft(): Theft {
    try {
      return theftSchema.parse(JSON.parse(readFileSync(join(this.#folder, THEFT), 'utf8')));
    } catch {
      return {};
    }
  }

  /** The time and path of the last report; null without one. */
  lastReport(): { readonly path: string; readonly at: Date } | null {
    const name = this.#list(REPORT).at(-1);
    if (name === undefined) return null;
    const path = join(this.#folder, name);
    return { path, at: statSync(path).mtime };
  }

  #list(names: RegExp): readonly string[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((name) => names.test(name))
      .sort();
  }
}

function timeOf(name: string): Date {
  const [, year, month, day, hour, minute, second, millisecond = '000'] =
    /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})?Z/.exec(name) ?? [];
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${millisecond}Z`);
}

/** A time in a file's name: `20261123T151500123Z`. In whole seconds, an earlier cleaning could look later. */
function stampOf(time: Date): string {
  return time.toISOString().replaceAll(/[-:.]/g, '');
}
