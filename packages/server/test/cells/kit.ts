import { SignJWT } from 'jose';
import type { BucketRange } from '../../src/domain/cells.js';
import { bucketOf } from '../../src/domain/ids.js';
import type { Client } from '../support/client.js';
import { JWT_SECRET, type TestServer } from '../support/server.js';

/** The name of a tenant in each of these ranges. */
export const namesIn = (ranges: readonly BucketRange[]): string[] =>
  ranges.map(({ first, last }) => {
    for (let n = 0; ; n++) {
      const bucket = bucketOf(`tenant-${n}`);
      if (bucket >= first && bucket <= last) return `tenant-${n}`;
    }
  });

const secret = new TextEncoder().encode(JWT_SECRET);

/** A client of each of these tenants. */
export const clientsOf = (server: Pick<TestServer, 'as'>, names: readonly string[]): Promise<Client[]> =>
  Promise.all(names.map(async (name) => server.as(await tokenOf(name))));

export const tokenOf = (tenant: string): Promise<string> =>
  new SignJWT({ sub: tenant }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(secret);
