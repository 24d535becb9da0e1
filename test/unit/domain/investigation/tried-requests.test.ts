import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  callRemedy,
  requestForm,
  requestsText,
  TRIED_REQUESTS,
} from '../../../../src/domain/investigation/tried-requests.ts';
import { HAS_RECORDING, recorded } from '../../../support/recordings.ts';

const CONFORMANCE = join(import.meta.dirname, '../../../../../shared/conformance');

/** The requests that the recorded controller carried out. */
function carriedOut(): ReadonlySet<string> {
  const sets = ['exchanges', 'exchanges-more', 'exchanges-held', 'exchanges-third']
    .map((name) => join(CONFORMANCE, `${name}.jsonl`))
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))
    .map(
      (line) =>
        JSON.parse(line) as { request?: { method: string; path: string }; expect?: { status: number } },
    )
    .flatMap(({ request, expect: answer }) => (request && answer ? [{ ...request, ...answer }] : []));
  const raw = recorded('awx-24.6.1', 'raw');
  const runs = recorded('awx-24.6.1', 'tokenctl').flatMap(({ exchanges }) => exchanges);
  const forms = [...sets, ...raw, ...runs]
    .filter(({ status }) => status >= 200 && status < 300)
    .map(({ method, path }) => requestForm(method, path.replace(/\{\{\w+\}\}/g, '1').replace(/\?.*/, '')));
  return new Set(forms);
}

describe('a request that is advised', () => {
  test.skipIf(!HAS_RECORDING || !existsSync(CONFORMANCE))('counts as tried only if it is recorded', () => {
    const seen = carriedOut();
    const tried = Object.entries(TRIED_REQUESTS).flatMap(([method, names]) =>
      names.map((name) => `${method} ${name}`),
    );
    expect(tried.filter((form) => !seen.has(form))).toEqual([]);
  });

  test('says that it is not tried', () => {
    expect(callRemedy(['DELETE /api/v2/users/12/'])).toEqual({
      kind: 'call',
      text: 'DELETE /api/v2/users/12/',
    });
    const cancel = 'POST /api/v2/jobs/7/cancel/';
    expect(callRemedy(['PATCH /api/v2/job_templates/7/ {"limit":"web"}', cancel])).toEqual({
      ...{ kind: 'call', isUntried: true },
      text: `PATCH /api/v2/job_templates/7/ {"limit":"web"}, then ${cancel}`,
    });
    expect(requestsText(['PATCH /api/v2/settings/all/ {}', cancel])).toBe(
      `PATCH /api/v2/settings/all/ {}, then ${cancel} (not tested on a controller)`,
    );
    // The recorded gateways have users of a stand-in.
    expect(callRemedy(['DELETE /api/gateway/v1/users/12/']).isUntried).toBe(true);
    expect(callRemedy(['DELETE /api/gateway/v1/role_user_assignments/12/']).isUntried).toBeUndefined();
  });
});
