/** The files of an audit: a baseline to compare with, and the command's reports to download. */
import { Label } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { saved, send } from './api.ts';

export const FORMATS = [
  ['html', 'HTML'],
  ['csv', 'CSV'],
  ['json', 'JSON'],
  ['sarif', 'SARIF'],
  ['table', 'Table'],
  ['baseline', 'Baseline'],
] as const;

/** A chosen baseline: its text, and a key that identifies it. */
export interface Chosen {
  readonly name: string;
  readonly text: string;
  readonly key: string;
}

/** The maximum file size that the console accepts, in bytes. */
const MAX_BASELINE = 8 * 1024 * 1024;

export function BaselineField(props: {
  readonly chosen: Chosen | null;
  readonly onChoose: (baseline: Chosen | null) => void;
  readonly onError: (error: Error | null) => void;
}): ReactNode {
  const { chosen, onChoose, onError } = props;
  if (chosen !== null) {
    return (
      <Label onClose={() => onChoose(null)} closeBtnAriaLabel="Remove the baseline">
        Baseline: {chosen.name}
      </Label>
    );
  }
  const choose = async (file: File | undefined) => {
    if (file === undefined) return;
    if (file.size > MAX_BASELINE) throw new Error('The file is too large for a baseline.');
    const text = await file.text();
    onError(null);
    onChoose({ name: file.name, text, key: `${file.name} ${file.size} ${file.lastModified}` });
  };
  return (
    <label className="file">
      Compare with a baseline{' '}
      <input
        type="file"
        onChange={({ target }) => void choose(target.files?.[0]).catch((error: Error) => onError(error))}
      />
    </label>
  );
}

export async function download(given: {
  readonly place: string;
  readonly format: string;
  readonly baseline: Chosen | null;
}): Promise<void> {
  const { place, format, baseline } = given;
  const isCompared = baseline !== null && format !== 'baseline';
  const response = await send('/api/audit/export', {
    body: { place, format, ...(isCompared && { baseline: baseline.text }) },
  });
  const ending = format === 'table' ? 'txt' : format;
  await saved(response, `audit-${place.replace('/', '+')}.${ending}`);
}
