import { Label, List, ListItem } from '@patternfly/react-core';
import { useApi } from '@tokenctl/common/web/queries.ts';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import type { ReactNode } from 'react';
import { ACCESS } from './access.tsx';
import { pagesOf } from './resource-forms.tsx';
import {
  ORGANIZATION,
  ORGANIZATION_FIELD,
  organizationOf,
  type Resource,
  type ResourceKind,
} from './resource-pages.tsx';

interface ProjectRow extends Resource {
  readonly organization: number | null;
  readonly local_path: string;
  readonly status: string;
}

/** The projects folder, and its unused folders, which only administrators see. */
interface Configuration {
  readonly project_base_dir?: string;
  readonly project_local_paths?: readonly string[];
}

const PROJECT: ResourceKind<ProjectRow> = {
  noun: 'project',
  plural: 'Projects',
  path: '/projects',
  api: '/api/v2/projects/',
  columns: [
    { title: 'Status', show: (project) => <ProjectStatus project={project} /> },
    ORGANIZATION,
    { title: 'Folder', orderBy: 'local_path', show: ({ local_path }) => local_path },
  ],
  filters: [{ name: 'organization__name__icontains', label: 'Organization' }],
  consequence:
    "Job templates that use it can no longer be launched. The playbooks stay on the service's machine.",
  facts: (project) => [
    ['Status', <ProjectStatus key="status" project={project} />],
    ['Organization', organizationOf(project)],
    ['Folder', project.local_path],
    ['Playbooks', <Playbooks key="playbooks" project={project} />],
  ],
  fields: (project) => [
    ORGANIZATION_FIELD,
    {
      name: 'local_path',
      label: 'Folder',
      kind: 'listed',
      required: true,
      listedAt: () => CONFIGURATION,
      read: (answer) => [
        ...(project === undefined || project.local_path === '' ? [] : [project.local_path]),
        ...((answer as Configuration).project_local_paths ?? []),
      ],
      help: <FolderHelp />,
    },
  ],
  tabs: [ACCESS],
};

const CONFIGURATION = '/api/v2/config/';

/** Where the listed folders are. */
function FolderHelp(): ReactNode {
  const { data } = useApi<Configuration>(CONFIGURATION);
  if (data === undefined) return "A folder with playbooks on the service's host.";
  const { project_base_dir: base, project_local_paths: free } = data;
  if (free === undefined)
    return 'Only administrators can see the folders. Ask an administrator to create the project.';
  const source = `Each project is a folder with playbooks in ${base} on the service's host.`;
  if (free.length > 0) return `${source} Folders of other projects are not listed.`;
  return `${source} No folder is available. Ask the operator of the service to add one, and then reload this page.`;
}

function ProjectStatus({ project: { status } }: { project: ProjectRow }): ReactNode {
  const isGood = status === 'ok' || status === 'successful';
  const isMissing = status === 'missing' || status === 'failed' || status === 'error';
  return (
    <Label isCompact status={isGood ? 'success' : isMissing ? 'danger' : 'info'}>
      {status === 'ok' ? 'Folder exists' : status === 'missing' ? 'Folder missing' : status}
    </Label>
  );
}

const MAX_PLAYBOOKS = 50;

function Playbooks({ project: { id } }: { project: ProjectRow }): ReactNode {
  const query = useApi<readonly string[]>(`/api/v2/projects/${id}/playbooks/`);
  return (
    <Loaded query={query}>
      {(paths) =>
        paths.length === 0 ? (
          'None'
        ) : (
          <List isPlain>
            {paths.slice(0, MAX_PLAYBOOKS).map((path) => (
              <ListItem key={path}>{path}</ListItem>
            ))}
            {paths.length > MAX_PLAYBOOKS && <ListItem>and {paths.length - MAX_PLAYBOOKS} more</ListItem>}
          </List>
        )
      }
    </Loaded>
  );
}

export const PROJECTS = pagesOf(PROJECT);
