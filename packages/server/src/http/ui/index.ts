import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorBody } from '../answers/errors.js';
import { sendJson } from '../answers/reply.js';
import { dashboardFiles, loadDashboard, type Asset, type Dashboard } from './files.js';

/**
 * Scripts and styles from this server and nowhere else, no markup from text (trusted types, without a policy that could
 * make some), in nobody's frame.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const PREFIX = '/ui/';
const HTML = 'text/html; charset=utf-8';
/** A name with a hash in it never means anything else. */
const FOR_EVER = 'public, max-age=31536000, immutable';

export interface UiOptions {
  /** Whether any bearer token is accepted, so that the dashboard can sign itself in. */
  readonly dev: boolean;
  /** Where the built files are; those of the installed package if absent. */
  readonly directory?: string;
}

/** The dashboard under /ui/, to which / leads. Its files need no credential; all that they show does. */
export function registerUi(app: FastifyInstance, { dev, directory }: UiOptions): void {
  let loaded: Promise<Dashboard | null> | null = null;
  const dashboard = async (): Promise<Dashboard | null> => {
    const found = await (loaded ??= loadDashboard(directory ?? dashboardFiles()));
    // It may be installed or built while the server runs: look again the next time.
    if (found === null) loaded = null;
    return found;
  };
  const hidden = { schema: { hide: true } };

  // Relative, because a proxy may have taken a prefix off the path.
  app.get('/', hidden, (_request, reply) => reply.redirect('ui/', 302));
  app.get('/ui', hidden, (_request, reply) => reply.redirect('ui/', 302));

  app.get<{ Params: { name: string } }>(`${PREFIX}assets/:name`, hidden, async (request, reply) => {
    const asset = (await dashboard())?.assets.get(request.params.name);
    if (asset === undefined) return sendJson(reply, 404, errorBody('not_found', 'the dashboard has no such file'));
    return sendAsset(request, reply, asset);
  });

  app.get(`${PREFIX}*`, hidden, async (request, reply) => {
    const found = await dashboard();
    reply
      .header('content-type', HTML)
      .header('content-security-policy', POLICY)
      .header('referrer-policy', 'no-referrer');
    if (found === null) return reply.code(404).header('cache-control', 'no-store').send(NOT_BUILT);
    return reply.header('cache-control', 'no-cache').send(indexFor(found.index, request.url, dev));
  });
}

/**
 * Every address below /ui/ is a page of the dashboard, so all get the same document, with paths that lead from where it
 * is asked for to the assets.
 */
function indexFor(index: string, url: string, dev: boolean): string {
  const path = url.split('?', 1)[0] ?? url;
  const depth = path.slice(PREFIX.length).split('/').length - 1;
  const page = index.replaceAll('"./', `"${depth === 0 ? './' : '../'.repeat(depth)}`);
  return dev ? page.replace('<html', '<html data-millrace-dev="true"') : page;
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  const accepted = request.headers['accept-encoding'] ?? '';
  const encoding = accepts(accepted, 'br') && asset.br !== undefined ? 'br' : accepts(accepted, 'gzip') ? 'gzip' : null;
  const body = encoding === null ? undefined : asset[encoding];
  if (encoding !== null && body !== undefined) reply.header('content-encoding', encoding);
  return reply
    .header('content-type', asset.type)
    .header('cache-control', FOR_EVER)
    .header('vary', 'accept-encoding')
    .send(body ?? asset.plain);
}

/** Whether the header names the encoding, without a quality of zero. */
const accepts = (header: string, encoding: string): boolean =>
  header.split(',').some((part) => {
    const [name, quality] = part.split(';');
    return name?.trim().toLowerCase() === encoding && !/^\s*q=0(\.0*)?\s*$/.test(quality ?? '');
  });

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Millrace</title>
  </head>
  <body>
    <h1>Millrace</h1>
    <p>This server runs, but its dashboard is not installed, or has not been built.</p>
    <p>
      <code>npm install @millrace/dashboard</code> installs it; in a clone of the repository,
      <code>npm run build</code> builds it.
    </p>
    <p>The API answers under <code>/api/v1</code>, and is described under <a href="../docs">/docs</a>.</p>
  </body>
</html>
`;
