import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readCellList } from '../../src/config/cell-list.js';
import { OPTIONS } from '../../src/config/options.js';
import { readRepositoryFile } from '../docs/generated.js';

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly instances?: number;
    readonly bootstrap?: { readonly initdb: { readonly database: string; readonly owner: string } };
    readonly template?: { readonly spec: PodSpec };
  };
}

interface PodSpec {
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    readonly securityContext: object;
  }[];
  readonly volumes: readonly { readonly name: string; readonly secret: { readonly secretName: string } }[];
}

describe('deploy/kubernetes/cells.yaml', () => {
  const resources = parseAllDocuments(readRepositoryFile('deploy/kubernetes/cells.yaml')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Resource;
  });
  const of = (kind: string): Resource[] => resources.filter((resource) => resource.kind === kind);
  const [secret] = of('Secret');
  const pod = of('Deployment')[0]!.spec.template!.spec;

  it('lists one cluster per cell, each with standbys, and every bucket once', () => {
    const dir = mkdtempSync(join(tmpdir(), 'millrace-deploy-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, 'cells.json');
    writeFileSync(file, secret!.stringData!['cells.json']!);
    const cells = readCellList(file).map(({ url }) => new URL(url));
    expect(cells.map(({ hostname }) => hostname)).toEqual(of('Cluster').map(({ metadata }) => `${metadata.name}-rw`));
    for (const [n, { spec }] of of('Cluster').entries()) {
      expect(spec.instances).toBeGreaterThanOrEqual(2);
      expect(cells[n]!.pathname).toBe(`/${spec.bootstrap!.initdb.database}`);
      expect(cells[n]!.username).toBe(spec.bootstrap!.initdb.owner);
    }
  });

  it('gives the service variables that it knows, and files that are mounted', () => {
    const [container] = pod.containers;
    const known = Object.values(OPTIONS).map(({ env }) => env);
    for (const { name, value } of container!.env) {
      expect(known).toContain(name);
      if (value.startsWith('/'))
        expect(container!.volumeMounts.some(({ mountPath }) => value.startsWith(`${mountPath}/`))).toBe(true);
    }
    expect(container!.env.map(({ name }) => name)).toContain('MILLRACE_CELLS');
    const mounted = container!.volumeMounts.map(({ name }) => name);
    expect(pod.volumes.map(({ name }) => name)).toEqual(mounted);
    expect(pod.volumes[0]!.secret.secretName).toBe(secret!.metadata.name);
    expect(container!.securityContext).toMatchObject({ readOnlyRootFilesystem: true });
  });
});
