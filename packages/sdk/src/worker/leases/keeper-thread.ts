import { parentPort, workerData } from 'node:worker_threads';
import { silentLogger } from '../../shared/logger.js';
import { startInlineKeeper, type FromThread, type ThreadData, type ToThread } from './keeper.js';
import { LeaseCells } from './lease-cells.js';
import { nodeExchange } from '../calls/node-exchange.js';
import { AssumedFeatures } from '../calls/assumed-features.js';

/** The keeper's thread: heartbeats go out whatever the handlers do to theirs. */
const { url, token, leaseSecs, buffer } = workerData as ThreadData;
const post = (message: FromThread): void => parentPort?.postMessage(message);

const keeper = startInlineKeeper({
  connection: { url, token, fetch: globalThis.fetch, exchange: nodeExchange, logger: silentLogger },
  // Finds out by itself what the server knows: the routes answer 404 if they are not there.
  features: new AssumedFeatures(),
  cells: new LeaseCells(buffer),
  leaseSecs,
  onLost: (lost, answer) => post({ lost, answer }),
});

parentPort?.on('message', (message: ToThread) => {
  if ('beatBy' in message) keeper.beatBy(message.beatBy);
  else keeper.progress(message.progress.cell, message.progress.generation, message.progress.value);
});
