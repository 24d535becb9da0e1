import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Metrics } from '@tokenctl/service/metrics.ts';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { packageVersion } from '../../../scripts/release/program-tree.ts';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import { loadConfiguration } from '../../../src/config/configuration.ts';
import { SchedulerMetrics } from '../../../src/scheduler/monitoring.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

/** Whether a program of the distribution is on this machine: `.ci/run` installs them. */
function has(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources?: { readonly requests?: object; readonly limits?: { readonly memory?: string } };
  readonly securityContext?: object;
  readonly livenessProbe?: Readonly<Record<string, { readonly port: string }>>;
  readonly readinessProbe?: Readonly<Record<string, { readonly port: string }>>;
  readonly volumeMounts: readonly { readonly name: string }[];
}
interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly securityContext?: object;
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string }[];
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } };
    readonly selector?: { readonly app?: string; readonly matchLabels?: { readonly app: string } };
  };
}
interface PodTemplate {
  readonly metadata?: { readonly labels?: { readonly app?: string } };
  readonly spec: PodSpec;
}

const manifests = globSync('deploy/kubernetes/*/*.yaml', { cwd: root })
  .filter((path) => !['kustomization.yaml', 'tokenctl.yaml'].includes(basename(path)))
  .flatMap((path) => parseAllDocuments(textOf(path)).map((document) => document.toJS() as Manifest));
const templateOf = ({ spec }: Manifest) => spec?.template ?? spec?.jobTemplate?.spec.template;
const workloads = manifests.flatMap((manifest) => {
  const template = templateOf(manifest);
  return template === undefined
    ? []
    : [{ name: `${manifest.kind} ${manifest.metadata.name}`, manifest, template }];
});

describe.each(workloads)('$name', ({ manifest, template: { metadata, spec } }) => {
  test('runs the image of this version without rights', () => {
    expect(spec.automountServiceAccountToken).toBe(false);
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const { image, securityContext } of spec.containers) {
      expect(image).toBe(`registry.example.org/tokenctl:${packageVersion()}`);
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('has a command of the program, resources, and what its probes and mounts name', () => {
    const commands = Object.keys(
      (JSON.parse(textOf('oclif.manifest.json')) as { commands: object }).commands,
    );
    for (const {
      args,
      resources,
      ports = [],
      livenessProbe,
      readinessProbe,
      volumeMounts,
    } of spec.containers) {
      expect(commands).toContain(args.slice(0, 2).join(':'));
      expect(resources?.requests).toMatchObject({ cpu: expect.anything(), memory: expect.anything() });
      expect(resources?.limits?.memory).toBeDefined();
      for (const probe of [livenessProbe, readinessProbe].filter((each) => each !== undefined))
        expect(ports.map(({ name }) => name)).toContain((probe['httpGet'] ?? probe['tcpSocket'])?.port);
      expect(volumeMounts.map(({ name }) => name).sort()).toEqual(
        spec.volumes.map(({ name }) => name).sort(),
      );
    }
  });

  test('is found by its own selector, its disruption budget and a network policy', () => {
    const app = metadata?.labels?.app;
    if (manifest.kind === 'Deployment') {
      expect(manifest.spec.selector?.matchLabels?.app).toBe(app);
      const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
      expect(budgets.map(({ spec: { selector } }) => selector?.matchLabels?.app)).toContain(app);
    }
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
    expect(JSON.stringify(policies.map((policy) => policy.spec))).toContain(`"${app}"`);
  });
});

test('each folder names all of its manifests', () => {
  for (const path of globSync('deploy/kubernetes/*/kustomization.yaml', { cwd: root })) {
    const folder = dirname(path);
    const { resources } = parse(textOf(path)) as { resources: string[] };
    const files = globSync('*.yaml', { cwd: join(root, folder) });
    const others = files.filter((file) => !['kustomization.yaml', 'tokenctl.yaml'].includes(file));
    expect(resources.filter((resource) => !resource.startsWith('../')).sort()).toEqual(others.sort());
  }
});

test('the configuration of the example is valid', () => {
  const file = join(root, 'deploy/kubernetes/example/tokenctl.yaml');
  const { jobs, signals } = loadConfiguration({ config: file }, {}, jobKinds);
  expect(Object.keys(jobs)).toEqual(['nightly-sweep', 'lift-incidents']);
  expect(Object.keys(signals?.transmitters ?? {})).toEqual(['corporate']);
});

test.skipIf(!has('kubectl')).each(['example', 'sweep', 'service'])('kubectl builds %s', (folder) => {
  const path = join(root, 'deploy/kubernetes', folder);
  const built = execFileSync('kubectl', ['kustomize', path], { encoding: 'utf8' });
  const kinds = parseAllDocuments(built).map((document) => (document.toJS() as Manifest).kind);
  expect(kinds).toContain(folder === 'sweep' ? 'CronJob' : 'Deployment');
  if (folder === 'example') expect(built).toMatch(/configMap:\s+name: tokenctl-\w+/);
});

describe('alerts and dashboard', () => {
  const rules = textOf('deploy/prometheus/rules.yaml');
  const dashboard = textOf('deploy/grafana/tokenctl.json');
  const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);

  test('name metrics that the programs have', async () => {
    const scheduler = new SchedulerMetrics({
      store: {
        lastSuccesses: async () => new Map(),
        sighting: async () => ({ running: true, lastSeen: new Date() }),
      },
      log: { head: async () => ({ size: 1, hash: '' }) as never },
      clock: { now: () => new Date() } as never,
      jobs: () => [],
      version: '1',
    });
    const service = new Metrics({
      database: { kind: 'postgresql' } as never,
      jobs: { load: { running: 0, waiting: 0 } } as never,
      version: '1',
    });
    const served = (await Promise.all([scheduler.text(), service.text()])).map(({ body }) => body).join('\n');
    const known = new Set([...served.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
    const named = [...`${rules}\n${dashboard}`.matchAll(/\b(?:tokenctl|process)_[a-z_]+/g)].map(([name]) =>
      name.replace(/_bucket$/, ''),
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test('each alert has a section on what to do, and links to it', () => {
    const page = textOf('docs/monitoring.md');
    expect([...page.matchAll(/^### (\w+)/gm)].map(([, name]) => name)).toEqual(alerts);
    const links = [...rules.matchAll(/runbook: (\S+)/g)].map(([, link]) => link);
    expect(links).toEqual(alerts.map((name) => `docs/monitoring.md#${name.toLowerCase()}`));
  });

  test.skipIf(!has('promtool'))('promtool accepts the rules, and they fire when they should', () => {
    const run = (...args: string[]) => execFileSync('promtool', args, { encoding: 'utf8', cwd: root });
    expect(run('check', 'rules', 'deploy/prometheus/rules.yaml')).toContain(`${alerts.length} rules found`);
    expect(run('test', 'rules', 'test/process/release/alerts.yaml')).toContain('SUCCESS');
  });
});
