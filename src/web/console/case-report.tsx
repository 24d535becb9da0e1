/** The report of a case, to download. */
import { Button, FormGroup, FormSelect, FormSelectOption } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { query, saved, send } from './api.ts';
import type { CaseRead } from './case-stages.ts';
import { Message, When } from './parts.tsx';

const FORMATS = [
  ['html', 'HTML'],
  ['json', 'JSON'],
  ['markdown', 'Markdown'],
  ['svg', 'Picture (SVG)'],
] as const;
type Format = (typeof FORMATS)[number][0];

export function ReportButtons({
  read,
  place,
  isNext,
}: {
  readonly read: CaseRead;
  readonly place: string;
  readonly isNext: boolean;
}): ReactNode {
  const { id } = read.incident;
  const queries = useQueryClient();
  const [format, setFormat] = useState<Format>('html');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [made, setMade] = useState<string | null>(null);
  const download = () => {
    const name = `${id}.${format === 'markdown' ? 'md' : format}`;
    setBusy(true);
    setError(null);
    setMade(null);
    send(query('/api/case/report', { place, incident: id, format }))
      .then((response) => saved(response, name))
      .then(() => setMade(name))
      .then(() => queries.invalidateQueries())
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const { report, investigations } = read;
  return (
    <>
      <div className="actions">
        <FormGroup label="Format" fieldId="report-format">
          <FormSelect
            id="report-format"
            value={format}
            onChange={(_event, value) => setFormat(value as Format)}
          >
            {FORMATS.map(([value, label]) => (
              <FormSelectOption
                key={value}
                value={value}
                label={label}
                isDisabled={value === 'svg' && investigations.length === 0}
              />
            ))}
          </FormSelect>
        </FormGroup>
        <Button
          variant={isNext ? 'primary' : 'secondary'}
          onClick={download}
          isLoading={isBusy}
          isDisabled={isBusy}
        >
          Download the report
        </Button>
      </div>
      <p role="status">
        {isBusy && 'Making the report…'}
        {!isBusy && made !== null && (
          <>
            Saved as <strong>{made}</strong>, usually in “Downloads”.
          </>
        )}
      </p>
      {error !== null && <Message isLiveRegion variant="danger" title={error.message} />}
      {report !== null && (
        <details>
          <summary>
            Last made <When at={report.at} />
            {report.isOutdated && ', before the last change: download it again'}
          </summary>
          A copy is on the machine of the console: <code>{report.path}</code>
        </details>
      )}
    </>
  );
}
