import { Counts, CountsQuery, ref, Series, SeriesQuery } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import { sendTagged } from '../answers/etag.js';
import type { HttpContext } from '../context.js';
import { countsQuery, seriesQuery, type QueryParameters } from '../requests/list-parameters.js';
import { tagged, TENANT } from './route-docs.js';

/** How much there is, and what happened over time. */
export function overviewRoutes(app: FastifyInstance, { engine }: HttpContext): void {
  app.get<{ Querystring: QueryParameters }>('/counts', { schema: countsSchema }, async (request, reply) => {
    const counts = await engine.insight.counts(request.tenant, countsQuery(request.query));
    return sendTagged(request, reply, JSON.stringify(counts));
  });

  app.get<{ Querystring: QueryParameters }>('/series', { schema: seriesSchema }, async (request, reply) => {
    const series = await engine.insight.series(request.tenant, seriesQuery(request.query));
    return sendTagged(request, reply, JSON.stringify(series));
  });
}

const countsSchema = {
  operationId: 'getCounts',
  summary: 'Count jobs, dead letters and workflows',
  description:
    'Each job counts once, in one state. Exact up to 10,000; beyond that an estimate. For one queue, ended jobs are ' +
    'those of the last 60 days.',
  tags: ['system'],
  security: TENANT,
  docs: { querystring: CountsQuery, ...tagged(ref(Counts), 'The counts.') },
};

const seriesSchema = {
  operationId: 'getSeries',
  summary: 'Plot what happened over time',
  description:
    'Steps of 15 seconds for the last hour, of 5 minutes for two days, of an hour for 60 days: the finest that ' +
    '`from` allows. The last step is up to 15 seconds behind. A tenant has a hundred series at most; further tasks ' +
    'count under the queue and task `other`.',
  tags: ['system'],
  security: TENANT,
  docs: { querystring: SeriesQuery, ...tagged(ref(Series), 'The columns of the plot.') },
};
