// The web application: it answers at once and leaves the work to others.
import express, { type Express } from 'express';
import { type Millrace, NotFoundError } from '@millrace/sdk';
import { findOrder, saveOrder, saveUser } from './database.js';
import { order, resizeImage } from './tasks.js';

export function shop(millrace: Millrace): Express {
  const app = express().use(express.json());

  app.post('/signup', async (request, response) => {
    const { email } = request.body as { email: string };
    // Writes the user and the job in one transaction: neither a crash nor a second click makes one without the other.
    response.status(201).json({ userId: await saveUser(email) });
  });

  // A job that came by way of the outbox is found by its key.
  app.get('/users/:id/welcome', async (request, response) => {
    const [job] = await millrace.jobs.list({ key: `welcome-${request.params.id}` }).toArray();
    response.json({ status: job?.status ?? 'on its way', result: job?.result ?? null });
  });

  app.post('/images', async (request, response) => {
    const { image, widths = [200, 800, 1600] } = request.body as { image: string; widths?: number[] };
    const job = await millrace.enqueue(resizeImage, { image, widths });
    response.status(202).json({ jobId: job.id });
  });

  // For a progress bar. A browser can also follow the job's event stream, through a route of yours.
  app.get('/jobs/:id', async (request, response) => {
    const { status, progress, result } = await millrace.jobs.get(request.params.id);
    response.json({ status, progress, result });
  });

  app.delete('/jobs/:id', async (request, response) => {
    await millrace.jobs.cancel(request.params.id);
    response.status(204).end();
  });

  app.post('/orders', async (request, response) => {
    const { id, sku, count, card } = request.body as { id: string; sku: string; count: number; card: string };
    await saveOrder({ orderId: id, sku, count, card });
    response.status(202).json({ id });
  });

  app.get('/orders/:id', async (request, response) => {
    const saved = await findOrder(request.params.id);
    if (saved === undefined) return response.status(404).end();
    // The key leads to the workflow, whether the relay has started it or this does.
    const run = await millrace.start(order, saved.request, { key: `order-${request.params.id}` });
    const status = await run.status();
    const steps = (await run.steps()).map(({ name, status, errorMessage }) => ({ name, status, errorMessage }));
    response.json({ status, parcel: (await findOrder(request.params.id))?.parcel, steps });
  });

  app.use((error: unknown, _request: express.Request, response: express.Response, next: express.NextFunction) => {
    if (error instanceof NotFoundError) response.status(404).end();
    else next(error);
  });
  return app;
}
