import { Worker } from '@millrace/sdk/worker';
import { handlers } from './handlers.js';

async function main(): Promise<void> {
  const summary = await new Worker({ queues: { images: 10 }, handlers }).run();
  console.log(`done: ${JSON.stringify(summary)}`);
}
void main();
