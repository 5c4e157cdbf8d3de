import { spawnSync } from 'node:child_process';
import Ajv from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { OPTIONS } from '../../src/config/options.js';
import { parseConfig } from '../../src/config/config.js';
import { readRepositoryFile, repositoryFile } from '../docs/generated.js';
import { renderChart, type Manifest } from './helm-template.js';
import { programOr } from './tools.js';

const CHART = repositoryFile('deploy/helm/millrace');
const helm = programOr('helm', '`helm lint` of deploy/helm/millrace; our own renderer has checked it');
const EVERYTHING = {
  api: { autoscaling: { enabled: true } },
  worker: { autoscaling: { enabled: true } },
  ingress: { enabled: true, className: 'nginx' },
  podMonitor: { enabled: true },
  relay: { enabled: true },
  image: { pullSecrets: [{ name: 'registry' }] },
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'jobs', operator: 'Exists' }],
  networkPolicy: { apiFrom: [{ podSelector: {} }], databaseTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }] },
};

const find = (manifests: readonly Manifest[], kind: string, name: string): Manifest =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)!;
const podOf = (manifest: Manifest): any => manifest.spec.template.spec;
const variablesOf = (manifest: Manifest): any[] => podOf(manifest).containers[0].env;

const plain = renderChart(CHART);
const everything = renderChart(CHART, EVERYTHING);
const workloads = plain.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
const deployments = plain.filter(({ kind }) => kind === 'Deployment');
const named = (list: readonly Manifest[]) => list.map((manifest) => [manifest.metadata.name, manifest] as const);

describe('the chart', () => {
  it('makes what its parts are called', () => {
    const kinds = (list: readonly Manifest[]): string[] =>
      list.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
    const always = ['Deployment demo-api', 'Deployment demo-worker', 'Job demo-migrate', 'NetworkPolicy demo'];
    const budgets = ['PodDisruptionBudget demo-api', 'PodDisruptionBudget demo-worker'];
    expect(kinds(plain)).toEqual([...always, ...budgets, 'Service demo'].sort());
    const scalers = ['HorizontalPodAutoscaler demo-api', 'HorizontalPodAutoscaler demo-worker'];
    expect(kinds(everything)).toEqual(
      [
        ...always,
        ...budgets,
        ...scalers,
        'Deployment demo-relay',
        'Service demo',
        'Ingress demo',
        'PodMonitor demo',
      ].sort(),
    );
  });

  it('runs relays that call its API, with secrets by reference, and lets them out', () => {
    const relay = find(everything, 'Deployment', 'demo-relay');
    const { containers, securityContext } = podOf(relay);
    expect(containers[0]).toMatchObject({ args: ['relay'], livenessProbe: { httpGet: { path: '/health' } } });
    expect(securityContext.runAsNonRoot).toBe(true);
    const variables = Object.fromEntries(
      variablesOf(relay).map(({ name, value, valueFrom }) => [name, value ?? valueFrom]),
    );
    for (const key of ['MILLRACE_OUTBOX_URL', 'MILLRACE_TOKEN'])
      expect(variables[key]).toEqual({ secretKeyRef: { name: 'millrace-relay', key } });
    expect(variables.MILLRACE_URL).toBe('http://demo:80');
    const egress = JSON.stringify(find(everything, 'NetworkPolicy', 'demo').spec.egress);
    expect(egress).toContain('8000');
    expect(JSON.stringify(find(plain, 'NetworkPolicy', 'demo').spec.egress)).not.toContain('8000');
  });

  it.each(named(workloads))('runs %s without rights and without anything to write to', (_, manifest) => {
    const pod = podOf(manifest);
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.containers[0].resources.limits.memory).toBeTruthy();
  });

  it.each(named(deployments))('probes %s, and lets it drain before it is killed', (_, manifest) => {
    const { containers, terminationGracePeriodSeconds } = podOf(manifest);
    const [{ livenessProbe, readinessProbe, startupProbe, lifecycle, ports }] = containers;
    expect([livenessProbe, startupProbe].map((probe) => probe.httpGet.path)).toEqual(['/health', '/health']);
    expect(readinessProbe.httpGet.path).toBe('/ready');
    // /ready answers within two seconds, also without a database.
    expect(readinessProbe.timeoutSeconds).toBeGreaterThan(2);
    expect(ports.map(({ name }: { name: string }) => name)).toContain(livenessProbe.httpGet.port);
    expect(lifecycle.preStop.exec.command).toEqual(['/nodejs/bin/node', '-e', 'setTimeout(() => {}, 5 * 1000)']);
    const shutdown = variablesOf(manifest).find(({ name }) => name === 'MILLRACE_SHUTDOWN_SECS').value;
    expect(terminationGracePeriodSeconds).toBeGreaterThan(5 + Number(shutdown));
  });

  it('gives only options that there are, and secrets by reference', () => {
    const known = new Set<string>(Object.values(OPTIONS).map(({ env }) => env));
    const secret = new Set<string>(Object.values(OPTIONS).flatMap((option) => (option.isSecret ? [option.env] : [])));
    for (const manifest of workloads) {
      for (const { name, value, valueFrom } of variablesOf(manifest)) {
        expect(known).toContain(name);
        expect(secret.has(name as string)).toBe(valueFrom !== undefined);
        expect(valueFrom === undefined ? typeof value : typeof valueFrom.secretKeyRef.key).toBe('string');
      }
    }
  });

  it('keeps the tokens of clients from workers, and the owner of the schema from all who serve', () => {
    const secrets = Object.fromEntries(
      workloads.map((manifest) => [
        manifest.metadata.name,
        variablesOf(manifest).flatMap(({ name, valueFrom }) =>
          valueFrom === undefined ? [] : [`${valueFrom.secretKeyRef.name}/${name}`],
        ),
      ]),
    );
    expect(secrets['demo-worker']).toEqual(['millrace/DATABASE_URL']);
    expect(secrets['demo-migrate']).toEqual(['millrace-owner/DATABASE_URL']);
    expect(secrets['demo-api']).toEqual(['millrace/DATABASE_URL']);
    const mounted = Object.fromEntries(workloads.map((each) => [each.metadata.name, podOf(each).volumes]));
    expect(mounted).toEqual({
      'demo-api': [{ name: 'credentials', secret: { secretName: 'millrace-credentials', defaultMode: 0o440 } }],
      'demo-worker': undefined,
      'demo-migrate': undefined,
    });
  });

  it('shows the API each kind of credential that there is as a file', () => {
    const files = ['api-keys', 'jwt-secret', 'read-keys', 'worker-token', 'admin-token'];
    const api = find(renderChart(CHART, { secrets: { files } }), 'Deployment', 'demo-api');
    const [{ mountPath, readOnly }] = podOf(api).containers[0].volumeMounts;
    expect(readOnly).toBe(true);
    const env = Object.fromEntries(variablesOf(api).flatMap(({ name, value }) => (value ? [[name, value]] : [])));
    const { apiKeysFile, jwtSecretFile, readKeysFile, workerTokenFile, adminTokenFile } = parseConfig(
      ['--mode', 'api'],
      { ...env, DATABASE_URL: 'postgres://u:p@h/d' },
      { isTTY: false },
    );
    expect([apiKeysFile, jwtSecretFile, readKeysFile, workerTokenFile, adminTokenFile]).toEqual(
      files.map((name) => `${mountPath}/${name}`),
    );
    expect(podOf(api).securityContext.fsGroup).toBe(65532);
  });

  it('selects the pods that it makes, each by one', () => {
    const labels = (component: string): object =>
      find(plain, 'Deployment', `demo-${component}`).spec.template.metadata.labels;
    const matches = (selector: object, component: string): boolean =>
      Object.entries(selector).every(([name, value]) => (labels(component) as any)[name] === value);
    const service = find(plain, 'Service', 'demo').spec.selector;
    expect([matches(service, 'api'), matches(service, 'worker')]).toEqual([true, false]);
    for (const component of ['api', 'worker']) {
      const budget = find(plain, 'PodDisruptionBudget', `demo-${component}`).spec;
      expect(budget.maxUnavailable).toBe(1);
      expect(['api', 'worker'].filter((each) => matches(budget.selector.matchLabels, each))).toEqual([component]);
      const deployment = find(plain, 'Deployment', `demo-${component}`).spec.selector.matchLabels;
      expect(['api', 'worker'].filter((each) => matches(deployment, each))).toEqual([component]);
    }
    expect(matches(find(plain, 'NetworkPolicy', 'demo').spec.podSelector.matchLabels, 'worker')).toBe(true);
  });

  it('lets pods reach names and the database, and metrics be reached from one namespace', () => {
    const { ingress, egress, policyTypes } = find(plain, 'NetworkPolicy', 'demo').spec;
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(egress.flatMap(({ ports }: any) => ports.map(({ port }: any) => port))).toEqual([53, 53, 5432]);
    const metrics = ingress.find(({ ports }: any) => ports[0].port === 9090);
    expect(metrics.from).toEqual([
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
    ]);
  });

  it('lets pods reach what the values name beside the database', () => {
    const collector = { to: [{ podSelector: {} }], ports: [{ protocol: 'TCP', port: 4318 }] };
    const manifests = renderChart(CHART, { networkPolicy: { extraEgress: [collector] } });
    expect(find(manifests, 'NetworkPolicy', 'demo').spec.egress.slice(2)).toEqual([collector]);
  });

  it('scales workers by the depth of their queue, and then leaves the number to the scaler', () => {
    const scaler = find(everything, 'HorizontalPodAutoscaler', 'demo-worker').spec;
    expect(scaler.metrics[0].external.metric).toEqual({
      name: 'millrace_queue_depth',
      selector: { matchLabels: { queue: 'default', status: 'pending' } },
    });
    expect(find(everything, 'Deployment', 'demo-worker').spec.replicas).toBeUndefined();
    expect(find(plain, 'Deployment', 'demo-worker').spec.replicas).toBe(2);
  });

  it('has the version of the service', () => {
    const { version } = JSON.parse(readRepositoryFile('packages/server/package.json')) as { version: string };
    expect(parse(readRepositoryFile('deploy/helm/millrace/Chart.yaml'))).toMatchObject({
      version,
      appVersion: version,
    });
  });

  it.runIf(helm)('passes `helm lint`', () => {
    const { status, stdout, stderr } = spawnSync(helm!, ['lint', '--strict', CHART], { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
  });
});

describe('the values', () => {
  const check = new Ajv().compile(JSON.parse(readRepositoryFile('deploy/helm/millrace/values.schema.json')) as object);
  const values = (): any => parse(readRepositoryFile('deploy/helm/millrace/values.yaml'));

  it('agree with their schema', () => {
    check(values());
    expect(check.errors).toBeNull();
  });

  it.each(['MILLRACE_WORKER_TOKEN', 'MILLRACE_API_KEYS', 'MILLRACE_JWT_SECRET', 'DATABASE_URL'])(
    'may not hold %s',
    (name) => {
      expect(check({ ...values(), options: { [name]: 'x' } })).toBe(false);
    },
  );

  it.each([[['api-keys']], [['worker-token']], [['worker-token', 'admin-token']], [['worker-token', 'keys']]])(
    'have to name files that a process can start with, and %j is not that',
    (files) => {
      expect(check({ ...values(), secrets: { ...values().secrets, files } })).toBe(false);
    },
  );

  it('may not hold what the chart does not know', () => {
    expect(check({ ...values(), replicas: 3 })).toBe(false);
  });
});
