// Starts the web application: npm start
import type { AddressInfo } from 'node:net';
import { Millrace } from '@millrace/sdk';
import { shop } from './app.js';
import { createTables } from './database.js';
import { sweepCarts } from './tasks.js';

const millrace = new Millrace(); // MILLRACE_URL and MILLRACE_TOKEN; without them, the service on this machine

await createTables();

// Creates the schedule, or brings it in line with this: safe at every start, and in every process.
await millrace.schedules.put({
  name: 'sweep-carts',
  cron: '30 3 * * *',
  timezone: 'Europe/Berlin',
  task: sweepCarts,
  input: { olderThanHours: 48 },
});

const server = shop(millrace).listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => server.close());
