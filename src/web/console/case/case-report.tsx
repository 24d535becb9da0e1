import { Button, FormGroup, FormSelect, FormSelectOption } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { query, saved, send } from '../api.ts';
import { Failure, When } from '../parts.tsx';
import type { CaseProps } from './case-stages.ts';

const FORMATS = [
  ['html', 'HTML'],
  ['json', 'JSON'],
  ['markdown', 'Markdown'],
  ['svg', 'Picture (SVG)'],
] as const;
type Format = (typeof FORMATS)[number][0];

/** Creates the report of a case and saves it. */
export function useReport({ place, incident }: { place: string; incident: string }) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (format: Format) => {
      const name = `${incident}.${format === 'markdown' ? 'md' : format}`;
      await saved(await send(query('/api/case/report', { place, incident, format })), name);
      return name;
    },
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** The result of a requested report. */
export function SavedText(props: { readonly report: ReturnType<typeof useReport> }): ReactNode {
  const { isPending, data, error } = props.report;
  return (
    <>
      <p role="status">
        {isPending && 'Creating the report…'}
        {data !== undefined && (
          <>
            Saved as <strong>{data}</strong>, usually in “Downloads”.
          </>
        )}
      </p>
      <Failure error={error} />
    </>
  );
}

export function ReportButtons({ read, place, isNext }: CaseProps & { isNext: boolean }): ReactNode {
  const { id } = read.incident;
  const [format, setFormat] = useState<Format>('html');
  const made = useReport({ place, incident: id });
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
          onClick={() => made.mutate(format)}
          isLoading={made.isPending}
          isDisabled={made.isPending}
        >
          Download the report
        </Button>
      </div>
      <SavedText report={made} />
      {report !== null && (
        <details>
          <summary>
            Last made <When at={report.at} />
            {report.isOutdated && ', before the last change: download it again'}
          </summary>
          A copy is stored on the console's machine: <code>{report.path}</code>
        </details>
      )}
    </>
  );
}
