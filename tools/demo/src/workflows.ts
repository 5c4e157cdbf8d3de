import type { Random } from '@millrace/tools-shared';
import { taskOf } from './tasks.js';

interface Step {
  readonly name: string;
  readonly task: string;
  readonly after?: readonly string[];
  readonly onFailure?: 'halt' | 'skip' | 'continue';
}

const STEP_POLICY = { max_retries: 1, retry_delay_secs: 3 };

function workflow(name: string, steps: readonly Step[], random: Random, context: string): string {
  const items = steps.map(({ name: step, task, after = [], onFailure = 'halt' }) => {
    const known = taskOf(task);
    const fields = {
      name: step,
      task_name: task,
      depends_on: after,
      on_failure: onFailure,
      config: STEP_POLICY,
      ...(known && { queue: known.queue }),
    };
    const payload = known?.payload(random) ?? '{"seconds": 0.2}';
    return `${JSON.stringify(fields).slice(0, -1)},"payload":${payload}}`;
  });
  return `{"name":${JSON.stringify(name)},"context":${context},"steps":[${items.join(',')}]}`;
}

const order = (random: Random): string =>
  workflow(
    'order',
    [
      { name: 'reserve', task: 'deliver_webhook' },
      { name: 'charge', task: 'charge_card' },
      { name: 'ship', task: 'deliver_webhook', after: ['reserve', 'charge'] },
      { name: 'receipt', task: 'send_receipt', after: ['charge'], onFailure: 'continue' },
      { name: 'mail', task: 'send_welcome', after: ['ship'], onFailure: 'continue' },
    ],
    random,
    `{"order_id": "o-${random.below(100_000)}", "total": ${random.integer(5, 400)}.90}`,
  );

const upload = (random: Random): string => {
  const widths = [320, 640, 1280, 2560];
  return workflow(
    'upload',
    [
      { name: 'fetch', task: 'sleep' },
      ...widths.map((width) => ({
        name: `resize ${width}`,
        task: 'resize_image',
        after: ['fetch'],
        onFailure: 'skip' as const,
      })),
      { name: 'publish', task: 'deliver_webhook', after: widths.map((width) => `resize ${width}`) },
    ],
    random,
    `{"upload": "${random.uuid()}"}`,
  );
};

const settlement = (random: Random): string => {
  const countries = ['at', 'be', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'se'];
  return workflow(
    'month-end',
    [
      { name: 'close books', task: 'sleep' },
      ...countries.flatMap((country) => [
        { name: `extract ${country}`, task: 'echo', after: ['close books'] },
        {
          name: `settle ${country}`,
          task: 'charge_card',
          after: [`extract ${country}`],
          onFailure: 'continue' as const,
        },
      ]),
      { name: 'report', task: 'build_report', after: countries.map((country) => `settle ${country}`) },
      { name: 'send', task: 'send_digest', after: ['report'] },
    ],
    random,
    `{"month": "2026-${String(random.integer(1, 12)).padStart(2, '0')}"}`,
  );
};

export const someWorkflow = (random: Random): string => random.pick([order, order, order, upload, settlement])(random);

/** A graph of `count` steps with about two dependencies each, in layers of `width`: the largest that fits a service. */
export function largeWorkflow(random: Random, count = 1000, width = 25): string {
  const steps = Array.from({ length: count }, (_, index): Step => {
    const layer = Math.floor(index / width);
    const above = (layer - 1) * width;
    const after = layer === 0 ? [] : [above + random.below(width), above + random.below(width)];
    return { name: `step ${index}`, task: 'echo', after: [...new Set(after)].map((other) => `step ${other}`) };
  });
  return workflow('thousand steps', steps, random, '{}');
}
