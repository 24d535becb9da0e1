import { Alert, Button, PageSection } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { callApi, problemText } from '@tokenctl/common/web/api.ts';
import { ApiForm } from '@tokenctl/common/web/form.tsx';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { useNotify } from '@tokenctl/common/web/notices.tsx';
import { useApi } from '@tokenctl/common/web/queries.ts';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import type { Asks, JobOptions } from '../src/store/job-options.ts';
import { ACCESS } from './access.tsx';
import {
  asksText,
  launchBody,
  launchFields,
  launchValues,
  optionFacts,
  promptsOf,
  templateFields,
} from './jobs/job-options.ts';
import { JobList } from './jobs/jobs.tsx';
import { pagesOf } from './resource-forms.tsx';
import {
  linkTo,
  type Named,
  organizationOf,
  ReadResource,
  type Resource,
  type ResourceKind,
} from './resource-pages.tsx';

interface TemplateRow extends Resource, Partial<JobOptions & Asks> {
  readonly inventory: number | null;
  readonly project: number | null;
  readonly playbook: string;
}

const TEMPLATE: ResourceKind<TemplateRow> = {
  noun: 'job template',
  plural: 'Job templates',
  path: '/templates',
  api: '/api/v2/job_templates/',
  columns: [
    {
      title: 'Inventory',
      orderBy: 'inventory__name',
      show: ({ summary_fields }) => linkTo('/inventories', summary_fields.inventory),
    },
    {
      title: 'Project',
      orderBy: 'project__name',
      show: ({ summary_fields }) => linkTo('/projects', summary_fields.project),
    },
    { title: 'Playbook', show: ({ playbook }) => playbook },
  ],
  filters: [
    { name: 'inventory__name__icontains', label: 'Inventory' },
    { name: 'project__name__icontains', label: 'Project' },
  ],
  consequence: 'Its jobs and their output are kept.',
  facts: (template) => [
    ['Organization', organizationOf(template)],
    ['Inventory', linkTo('/inventories', template.summary_fields.inventory)],
    ['Project', linkTo('/projects', template.summary_fields.project)],
    ['Playbook', template.playbook],
    ...optionFacts(template),
    ['Prompt on launch', asksText(template)],
  ],
  fields: () => [
    {
      name: 'inventory',
      label: 'Inventory',
      kind: 'lookup',
      collection: '/api/v2/inventories/',
      required: ({ ask_inventory_on_launch: isAsked }) => isAsked !== true,
      help: 'Required unless prompted for on launch.',
    },
    { name: 'project', label: 'Project', kind: 'lookup', collection: '/api/v2/projects/', required: true },
    {
      name: 'playbook',
      label: 'Playbook',
      kind: 'listed',
      required: true,
      listedAt: ({ project }) => (project ? `/api/v2/projects/${project}/playbooks/` : null),
      help: 'A playbook of the project.',
    },
    ...templateFields(),
  ],
  tabs: [
    ['jobs', 'Jobs', ({ id }) => <JobList path={`/api/v2/job_templates/${id}/jobs/`} isWhole />],
    ACCESS,
  ],
  rowActions: (template) => <LaunchButton template={template} variant="secondary" />,
  actions: (template) => <LaunchButton template={template} />,
};

/** Launches a template, or opens the form if it has prompts. Checks at the click: the page may be outdated. */
function LaunchButton(props: { readonly template: TemplateRow; readonly variant?: 'primary' | 'secondary' }) {
  const { template, variant = 'primary' } = props;
  const navigate = useNavigate();
  const notify = useNotify();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const { id, name } = template;
  if (template.summary_fields.user_capabilities?.start !== true) return null;
  const launch = async () => {
    setBusy(true);
    try {
      const api = `/api/v2/job_templates/${id}/launch/`;
      if (promptsOf(await callApi<LaunchFacts>(api)).length > 0) {
        await navigate(`/templates/${id}/launch`);
        return;
      }
      const job = await callApi<Named>(api, { method: 'POST', body: {} });
      await queries.invalidateQueries();
      await navigate(`/jobs/${job.id}`);
    } catch (error) {
      notify(`${name} was not launched: ${problemText(error)}`, 'danger');
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button
      variant={variant}
      isDisabled={isBusy}
      isLoading={isBusy}
      aria-label={`Launch ${name}`}
      onClick={() => void launch()}
    >
      Launch
    </Button>
  );
}

export const TEMPLATES = pagesOf(TEMPLATE);

/** What a launch may override, with the defaults. */
interface LaunchFacts extends Partial<Asks> {
  readonly defaults: Parameters<typeof launchValues>[1];
}

/** The form for a template's prompts before a launch. */
export function LaunchTemplate(): ReactNode {
  return <ReadResource kind={TEMPLATE}>{(template) => <Launch template={template} />}</ReadResource>;
}

function Launch({ template }: { template: TemplateRow }): ReactNode {
  const navigate = useNavigate();
  const path = `${TEMPLATE.path}/${template.id}`;
  const api = `/api/v2/job_templates/${template.id}/launch/`;
  const query = useApi<LaunchFacts>(api);
  return (
    <>
      <PageHeading
        title={`Launch ${template.name}`}
        above={[
          [TEMPLATE.path, TEMPLATE.plural],
          [path, template.name],
        ]}
      />
      <PageSection>
        <Loaded query={query}>
          {(facts) => {
            const prompts = promptsOf(facts);
            return (
              <ApiForm
                fields={launchFields(prompts)}
                initial={launchValues(prompts, facts.defaults)}
                submitLabel="Launch"
                canSubmit={template.summary_fields.user_capabilities?.start === true}
                onCancel={() => void navigate(path)}
                send={async (values) => {
                  const { id } = await callApi<Named>(api, { method: 'POST', body: launchBody(values) });
                  await navigate(`/jobs/${id}`, { replace: true });
                }}
              >
                {prompts.length === 0 && (
                  <Alert isInline variant="info" component="p" title="This job template has no prompts." />
                )}
              </ApiForm>
            );
          }}
        </Loaded>
      </PageSection>
    </>
  );
}
