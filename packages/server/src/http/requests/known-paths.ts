import type { FastifyInstance, RouteOptions } from 'fastify';

/**
 * Which methods a path has, for a request that no route takes: a path that exists under other methods is not unknown.
 * Asked only then, so a walk over all routes is soon enough.
 */
export interface KnownPath {
  /** In alphabetical order. */
  readonly methods: readonly string[];
  /** Whose routes they are: they ask for a credential before they tell anything. */
  readonly access: 'tenant' | 'worker' | 'admin' | 'anybody';
}

interface Known {
  readonly method: string;
  readonly segments: readonly string[];
  readonly access: KnownPath['access'];
}

export class KnownPaths {
  readonly #routes: Known[] = [];

  /** Learns of every route that is registered afterwards. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', (route) => this.#add(route));
  }

  find(url: string): KnownPath | null {
    const path = decoded(url.split(/[?#;]/, 1)[0] ?? '');
    const found = path === null ? [] : this.#routes.filter(({ segments }) => matches(segments, path.split('/')));
    if (found.length === 0) return null;
    const [access, ...others] = new Set(found.map((route) => route.access));
    return {
      methods: [...new Set(found.map(({ method }) => method))].sort(),
      access: others.length > 0 ? 'anybody' : access!,
    };
  }

  #add({ method, url, schema }: RouteOptions): void {
    if (url.includes('*')) return;
    const segments = url.split('/');
    for (const each of [method].flat()) this.#routes.push({ method: each, segments, access: accessOf(schema) });
  }
}

const matches = (pattern: readonly string[], path: readonly string[]): boolean =>
  pattern.length === path.length && pattern.every((segment, n) => segment.startsWith(':') || segment === path[n]);

function decoded(path: string): string | null {
  try {
    return decodeURI(path);
  } catch {
    return null;
  }
}

const ACCESS: Readonly<Record<string, KnownPath['access']>> = {
  tenantToken: 'tenant',
  workerToken: 'worker',
  adminToken: 'admin',
};

function accessOf(schema: RouteOptions['schema']): KnownPath['access'] {
  const { security = [] } = (schema ?? {}) as { security?: readonly object[] };
  const kinds = security.flatMap((each) => Object.keys(each));
  if (kinds.length !== 1) return 'anybody';
  return ACCESS[kinds[0] ?? ''] ?? 'anybody';
}
