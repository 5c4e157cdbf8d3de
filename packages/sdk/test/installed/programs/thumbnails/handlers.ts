import { NonRetryableError } from '@millrace/sdk';
import { count, publish, resize, sweep } from './tasks.js';

export const handlers = [
  resize.handle(async ({ image, width }, { job, log, progress }) => {
    if (image === 'broken') throw new NonRetryableError('not an image');
    progress({ percent: 50 });
    if (width === 400 && job.attempt === 1) throw { code: 7 };
    log.info('resized', { image, width });
    return { file: `${image}-${width}.png` };
  }),
  publish.handle(({ image, files }) => ({ page: `${image}: ${files.join(' ')}` })),
  count.handleMany((inputs) =>
    inputs.map(({ n }) => (n < 0 ? new Error('less than nothing') : { together: inputs.length > 1 })),
  ),
  sweep.handle(() => ({ removed: 0 })),
];
