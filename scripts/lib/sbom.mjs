import { createHash } from 'node:crypto';
import { idOf } from './lockfile.mjs';

/**
 * A bill of materials (CycloneDX 1.5) of what users get. It depends on the lockfile, the version and the date alone:
 * the same release has the same bill.
 */
export function billOfMaterials({ version, date, packages }) {
  const ours = { type: 'application', name: 'millrace', version, 'bom-ref': `millrace@${version}` };
  const isNeeded = new Set(packages.flatMap(({ dependsOn }) => dependsOn));
  const direct = packages.map(idOf).filter((id) => !isNeeded.has(id));
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: date,
      component: { ...ours, purl: `pkg:npm/millrace@${version}`, licenses: [{ license: { id: 'MIT' } }] },
    },
    components: packages.map(component),
    dependencies: [
      { ref: ours['bom-ref'], dependsOn: direct },
      ...packages.map((each) => ({ ref: idOf(each), dependsOn: each.dependsOn })),
    ],
  };
  return { ...bill, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bill))}` };
}

function component({ name, version, licence, integrity, how }) {
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ license: { id: licence } }],
    ...(integrity !== undefined && { hashes: [hashOf(integrity)] }),
    properties: [{ name: 'millrace:how', value: how }],
  };
}

/** `sha512-…` in base64, as npm writes it. */
function hashOf(integrity) {
  const [, bits, digest] = /^sha(\d+)-(.+)$/.exec(integrity);
  return { alg: `SHA-${bits}`, content: Buffer.from(digest, 'base64').toString('hex') };
}

/** A name-based identifier (version 5 in form). */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
