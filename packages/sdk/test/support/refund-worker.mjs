/**
 * The refund of docs/durable.md in a process of its own, which dies at its first call that changes anything: before it
 * is sent, or as soon as it is answered. What its handlers do to others is written to a file.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { NonRetryableError, task } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';

const { QUEUE: queue, EFFECTS: effects, DIES: dies } = process.env;
const note = (effect) => appendFileSync(effects, `${JSON.stringify(effect)}\n`);

const stripe = {
  find: (order) => {
    note({ step: 'find charge', order });
    return { id: `ch_${order}` };
  },
  refund: (charge, { idempotencyKey }) => note({ step: 'refund', charge, idempotencyKey }),
};

const retries = { max: 50, delay: '0s', jitter: 0 };
const refund = task({ name: 'refund', queue, retries });
const sendMail = task({ name: 'send-mail', queue, retries });

const mailer = sendMail.handle(({ order }) => {
  note({ step: 'mail', order });
  return { messageId: `mail-${order}` };
});

const handler = refund.handle(async ({ order, cents }, ctx) => {
  const charge = await ctx.step('find charge', () => stripe.find(order)); // runs once; its result is kept
  if (cents > 10_000) {
    const answer = await ctx.waitFor('approval', { timeout: '3d', ask: { text: `Refund ${cents} for ${order}?` } });
    if (!answer?.approved) throw new NonRetryableError('refused'); // null: nobody answered
  }
  await ctx.step('refund', () => stripe.refund(charge.id, { idempotencyKey: ctx.key('refund') }));
  await ctx.sleep('grace', '1h'); // holds no worker
  const sent = await ctx.call('mail', sendMail, { order }); // another job, awaited
  return { message: sent.messageId };
});

/** A call for children that are there changes nothing any more: it would be the last of every worker. */
const created = `${effects}.children`;
const changes = (path, method) =>
  method === 'POST' &&
  /\/(checkpoints|suspend|complete|fail|reports|children)$/.test(path) &&
  !(path.endsWith('/children') && existsSync(created));

const dying = async (input, init) => {
  const { pathname } = new URL(input);
  if (!changes(pathname, init?.method)) return fetch(input, init);
  if (dies === 'before') process.kill(process.pid, 'SIGKILL');
  const response = await fetch(input, init);
  if (pathname.endsWith('/children')) writeFileSync(created, '');
  if (dies === 'after') process.kill(process.pid, 'SIGKILL');
  return response;
};

await new Worker({ queues: { [queue]: 1 }, handlers: [handler, mailer], lease: '1h', fetch: dying }).run();
