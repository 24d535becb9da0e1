import { extname } from 'node:path';
import type { Component } from '../open-target.ts';
import type { TargetJobSettings } from './run-kind.ts';

/** Where a run of a job works. */
interface PlaceOfRun {
  readonly context: string;
  /** The component of a platform; null where the context is none. */
  readonly component: Component | null;
}

/** Stands in a file's name for that of the context. */
const CONTEXT = '{context}';

/**
 * The settings of a job with the files that it reads and writes for one context: `{context}` in their names becomes
 * its name. Without that, the components of a platform have each a file of their own all the same.
 */
export function withFilesOf(settings: TargetJobSettings, place: PlaceOfRun): TargetJobSettings {
  if (settings.job !== 'token-audit') return settings;
  const { report, baseline } = settings.parameters;
  return {
    ...settings,
    parameters: {
      ...settings.parameters,
      ...(report !== undefined && { report: fileOf(report, place) }),
      ...(baseline !== undefined && { baseline: fileOf(baseline, place) }),
    },
  };
}

function fileOf(path: string, { context, component }: PlaceOfRun): string {
  const label = component === null ? context : `${context}+${component}`;
  if (path.includes(CONTEXT)) return path.replaceAll(CONTEXT, label);
  if (component === null) return path;
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}.${component}${extension}`;
}
