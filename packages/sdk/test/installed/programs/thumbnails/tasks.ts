import { task, type, workflow } from '@millrace/sdk';

export const WIDTHS = [100, 400, 1600];

export const resize = task({
  name: 'resize',
  queue: 'images',
  input: type<{ image: string; width: number }>(),
  output: type<{ file: string }>(),
  retries: { max: 3, delay: '1s' },
});
export const publish = task({
  name: 'publish',
  queue: 'images',
  input: type<{ image: string; files: string[] }>(),
  output: type<{ page: string }>(),
});
/** Counts views, many at a time. */
export const count = task({
  name: 'count',
  queue: 'images',
  input: type<{ n: number }>(),
  output: type<{ together: boolean }>(),
  retries: { max: 0 },
});
export const sweep = task({ name: 'sweep', queue: 'images', output: type<{ removed: number }>() });
/** For a worker that has not been deployed yet. */
export const watermark = task({ name: 'watermark', queue: 'images' });

export const thumbnails = workflow({ name: 'thumbnails', input: type<{ image: string; owner?: string }>() })
  .map('resize', WIDTHS, resize, { payload: ({ input }, width) => ({ image: input.image, width }) })
  .step('publish', publish, {
    after: ['resize'],
    payload: ({ input, steps }) => ({ image: input.image, files: steps.resize.map(({ file }) => file) }),
  });
