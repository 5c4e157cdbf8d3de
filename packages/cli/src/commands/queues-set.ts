import type { Wire } from '@millrace/sdk';
import { connect } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { jsonText, wholeNumber } from '../invocation/values.js';
import type { queuesSet as spec } from '../specs/queues.js';
import { rateText } from './queues.js';

type Settings = NonNullable<Wire.QueueDetail['settings']> & { readonly queue: string };

const NONE = 'none';
const MOST = 1_000_000;

/** Settings of a queue: each is set, taken away with `none`, or left as it is. */
export const queuesSet: Run<(typeof spec)['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const { running, rate, burst, share } = options;
  if ([running, rate, share].every((given) => given === undefined))
    throw new Misuse('give --running, --rate or --share');
  if (burst !== undefined && (rate === undefined || rate === NONE)) throw new Misuse('--burst goes with --rate');
  const body = jsonText({
    running: running === NONE ? 'null' : textOf(wholeNumber('running', running, 1, MOST)),
    rate: rate === undefined ? undefined : rate === NONE ? 'null' : JSON.stringify(rateOf(rate, burst)),
    share: share === undefined ? undefined : share === NONE ? 'null' : JSON.stringify(share),
  });
  const { raw } = connect(context, 'adminToken');
  const answer = await raw.call<Settings>(['admin', 'queues', args[0] ?? ''], {
    method: 'PUT',
    body,
    signal,
  });
  await io.print(options.json ? answer.text : inWords(answer.body));
  return EXIT.ok;
};

const textOf = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value));

function rateOf(given: string, burst: string | undefined): object {
  const [, count, secs] = /^(\d+)\/(\d+)s?$/.exec(given) ?? [];
  if (count === undefined || secs === undefined) throw new Misuse('--rate must be COUNT/SECS, such as 100/60, or none');
  const most = wholeNumber('burst', burst, 1, MOST);
  return { count: Number(count), per_secs: Number(secs), ...(most !== undefined && { burst: most }) };
}

const inWords = ({ queue, running, rate, share }: Settings): string =>
  [
    `${queue}: ${running === null ? 'any number may run' : `at most ${running} run`}`,
    rate === null ? 'no rate' : `rate ${rateText(rate)}`,
    share === null ? 'no turns' : 'tenants take turns',
  ].join(', ');
