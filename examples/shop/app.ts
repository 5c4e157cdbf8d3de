// The web application: it answers at once and leaves the work to others.
import express, { type Express } from 'express';
import { type Millrace, NotFoundError } from '@millrace/sdk';
import { findOrder, saveOrder, saveUser } from './database.js';
import { order, resizeImage, sendWelcome } from './tasks.js';

export function shop(millrace: Millrace): Express {
  const app = express().use(express.json());

  app.post('/signup', async (request, response) => {
    const { email } = request.body as { email: string };
    const user = saveUser(email); // commit first,
    // then enqueue, with the id of the row as key: neither a crash in between nor a second click sends two mails.
    const job = await millrace.enqueue(sendWelcome, { userId: user.id, email }, { key: `welcome-${user.id}` });
    response.status(201).json({ userId: user.id, jobId: job.id });
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
    const saved = saveOrder({ id, sku, count });
    const run = await millrace.start(order, { orderId: id, sku, count, card }, { key: `order-${id}` });
    saved.workflowId = run.id;
    response.status(202).json({ id });
  });

  app.get('/orders/:id', async (request, response) => {
    const workflowId = findOrder(request.params.id)?.workflowId;
    if (workflowId === undefined) return response.status(404).end();
    const { status } = await millrace.workflows.get(workflowId);
    const steps = await millrace.workflows.steps(workflowId);
    response.json({ status, steps: steps.map(({ name, status, errorMessage }) => ({ name, status, errorMessage })) });
  });

  app.use((error: unknown, _request: express.Request, response: express.Response, next: express.NextFunction) => {
    if (error instanceof NotFoundError) response.status(404).end();
    else next(error);
  });
  return app;
}
