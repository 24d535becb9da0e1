import { expect, test } from 'vitest';
import { shownRunResult } from '../../../src/cli/output/job-view.ts';
import { documentText } from '../../../src/reports/document.ts';

test('a run of a job is told in words and numbers, not as the JSON of its summary', () => {
  const began = new Date('2026-11-26T03:00:00Z');
  const { document } = shownRunResult({
    ...({ job: 'nightly@east', run: '1bc1ed3d-84f2-4a67-bab3-18b6e0d48b0c', kind: 'manual' } as const),
    ...({ due: began, began, ended: began, attempt: 1, holder: 'host:1', state: 'completed' } as const),
    summary: {
      message: 'Would revoke 1,322 of 1,910 tokens',
      notTried: 0,
      planned: 1322,
      byRule: { 'never-used': 1322 },
      dryRun: true,
    },
    entries: [],
  });
  const text = documentText(document?.() ?? []);
  expect(text).toMatch(/^ *Result: +Would revoke 1,322 of 1,910 tokens$/m);
  expect(text).toMatch(/^ *Not tried: +0$/m);
  expect(text).toMatch(/^ *Planned: +1,322$/m);
  expect(text).toMatch(/^ *By rule: +never-used: 1,322$/m);
  expect(text).not.toMatch(/[{}]/);
});
