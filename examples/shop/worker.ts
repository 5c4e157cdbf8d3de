// Does the work: npm run worker. Start as many as you need, and give queues processes of their own as they grow.
import { setTimeout as wait } from 'node:timers/promises';
import { NonRetryableError } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';
import { CardDeclined, chargeCard } from './bank.js';
import { transaction } from './database.js';
import { charge, reserve, resizeImage, sendWelcome, ship, sweepCarts } from './tasks.js';

const handlers = [
  sendWelcome.handle(async ({ userId, email }, { log }) => {
    log.info('welcome', { email });
    return { messageId: `welcome-${userId}` };
  }),

  resizeImage.handle(async ({ image, widths }, { signal, progress }) => {
    const files: string[] = [];
    for (const width of widths) {
      await wait(200, undefined, { signal }); // stands for the work; ends when the job is cancelled or out of time
      files.push(`${image}-${width}.webp`);
      progress({ done: files.length, of: widths.length });
    }
    return { files };
  }),

  reserve.handle(({ sku, count }) => {
    if (sku === 'sold-out') throw new NonRetryableError('sold out');
    return { shelf: sku.length, cents: 1_250 * count };
  }),

  charge.handle(async ({ card, cents }, { job }) => {
    try {
      // A job may be delivered again after a crash: its id tells the bank that this is the same charge.
      return { receipt: await chargeCard(card, cents, job.id) };
    } catch (error) {
      if (error instanceof CardDeclined) throw new NonRetryableError(error.message); // asking again changes nothing
      throw error; // tried again, as the task says
    }
  }),

  // However often it is delivered: the order is marked, and the parcel leaves, once.
  ship.handle(async ({ orderId, shelf }, ctx) => {
    const parcel = `${orderId}-from-shelf-${shelf}`;
    await transaction((tx) =>
      ctx.once(tx, 'parcel', () => tx.query('UPDATE orders SET parcel = $2 WHERE id = $1', [orderId, parcel])),
    );
    return { parcel };
  }),

  sweepCarts.handle(({ olderThanHours }, { log }) => {
    log.info('sweeping carts', { olderThanHours });
    return { removed: 0 };
  }),
];

const queues = { emails: 20, images: 2, payments: 10, warehouse: 10 };
await new Worker({ queues, handlers }).run(); // until Ctrl-C or SIGTERM; running jobs finish first
