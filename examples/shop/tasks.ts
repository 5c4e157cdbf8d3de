// What there is to do: names and types, no code. The web application and the worker share this file.
import { task, type, workflow } from '@millrace/sdk';

export const sendWelcome = task({
  name: 'send_welcome',
  queue: 'emails',
  input: type<{ userId: number; email: string }>(),
  output: type<{ messageId: string }>(),
  retries: { max: 5, delay: '10s' },
});

export const resizeImage = task({
  name: 'resize_image',
  queue: 'images',
  input: type<{ image: string; widths: number[] }>(),
  output: type<{ files: string[] }>(),
  timeout: '5m',
});

export const reserve = task({
  name: 'reserve',
  queue: 'warehouse',
  input: type<{ sku: string; count: number }>(),
  output: type<{ shelf: number; cents: number }>(),
});

export const charge = task({
  name: 'charge',
  queue: 'payments',
  input: type<{ orderId: string; card: string; cents: number }>(),
  output: type<{ receipt: string }>(),
  // A bank that does not answer is asked again, for about an hour; a card that is declined is not (worker.ts).
  retries: { max: 8, backoff: 'exponential', delay: '1s', maxDelay: '20m' },
});

export const ship = task({
  name: 'ship',
  queue: 'warehouse',
  input: type<{ orderId: string; shelf: number; receipt: string }>(),
  output: type<{ parcel: string }>(),
});

export const sweepCarts = task({
  name: 'sweep_carts',
  queue: 'warehouse',
  input: type<{ olderThanHours: number }>(),
  output: type<{ removed: number }>(),
});

/** An order: its steps run on two queues, and use what the steps before them found out. */
export const order = workflow({
  name: 'order',
  input: type<{ orderId: string; sku: string; count: number; card: string }>(),
})
  .step('reserve', reserve, { payload: ({ input }) => ({ sku: input.sku, count: input.count }) })
  .step('charge', charge, {
    after: ['reserve'],
    payload: ({ input, steps }) => ({ orderId: input.orderId, card: input.card, cents: steps.reserve.cents }),
  })
  .step('ship', ship, {
    after: ['charge'],
    payload: ({ input, steps }) => ({
      orderId: input.orderId,
      shelf: steps.reserve.shelf,
      receipt: steps.charge.receipt,
    }),
  });
