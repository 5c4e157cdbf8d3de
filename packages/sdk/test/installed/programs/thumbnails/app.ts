import type { AddressInfo } from 'node:net';
import { JobFailedError, Millrace, MillraceError, WorkflowFailedError } from '@millrace/sdk';
import express from 'express';
import { count, resize, sweep, thumbnails, watermark } from './tasks.js';

/** At the start of the application, and of its tests. */
export async function prepare(millrace: Millrace): Promise<void> {
  await millrace.schedules.put({ name: 'sweep', cron: '30 3 * * *', timezone: 'Europe/Berlin', task: sweep });
  await millrace.schedules.put({
    name: 'logo',
    cron: '0 4 * * *',
    overlap: 'skip',
    workflow: thumbnails,
    input: { image: 'logo' },
  });
}

export function createApp(millrace: Millrace) {
  const app = express().use(express.json());
  app.post('/images', async (request, response) => {
    const { image, owner } = request.body as { image: string; owner?: string };
    const run = await millrace.start(thumbnails, owner ? { image, owner } : { image }, { key: `image-${image}` });
    response.status(202).json({ id: run.id });
  });
  app.get('/images/:id', async (request, response) => {
    const run = millrace.workflows.handle(thumbnails, request.params.id);
    try {
      const {
        resize: files,
        publish: { page },
      } = await run.result({ timeout: '1m' });
      const { context } = await run.get();
      response.json({ page, files: files.length, input: context.input });
    } catch (error) {
      if (!(error instanceof WorkflowFailedError)) throw error;
      response.json({ failed: error.message });
    }
  });
  app.post('/resize/:image', async (request, response) => {
    const job = await millrace.enqueue(resize, { image: request.params.image, width: 50 });
    const failure: unknown = await job.result().catch((error: unknown) => error);
    const { error } = await job.get();
    response.json({ known: failure instanceof JobFailedError, name: error?.name, stack: typeof error?.stack });
  });
  app.post('/views', async (request, response) => {
    const jobs = await millrace.enqueueMany((request.body as number[]).map((n) => count.with({ n })));
    const ends = await Promise.allSettled(jobs.map((job) => job.result()));
    response.json(ends.map((end) => (end.status === 'fulfilled' ? end.value : 'failed')));
  });
  app.post('/watermark', async (_request, response) => {
    response.json({ id: (await millrace.enqueue(watermark)).id });
  });
  app.post('/sweep', async (_request, response) => {
    response.json(await (await millrace.schedules.trigger('sweep')).result());
  });
  app.get('/mistakes', async (_request, response) => {
    const error: unknown = await millrace.jobs.get('nothing-like-an-id').catch((reason: unknown) => reason);
    response.json(error instanceof MillraceError ? { message: error.message, route: error.route } : null);
  });
  return app;
}

if (process.argv[2] === 'serve') {
  const millrace = new Millrace();
  void prepare(millrace).then(() => {
    const listening = createApp(millrace).listen(0, '127.0.0.1', () => {
      console.log(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`);
    });
    process.once('SIGTERM', () => {
      listening.close();
      listening.closeAllConnections();
    });
  });
}
