import {
  COUNTED,
  installOutbox,
  OUTBOX_VERSION,
  outboxSql,
  outboxStatus,
  pruneOutbox,
  retryRefused,
  uninstallOutbox,
  type OutboxStatus,
} from '@millrace/server';
import { Misuse } from '../invocation/exit.js';
import type { Invocation } from '../invocation/invocation.js';
import { parse } from '../invocation/parse.js';
import * as specs from '../specs/outbox.js';

/** The commands about the outbox in an application's database. They need no service. */

const DAY_SECS = 86_400;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Where the application's database is: by the flag, or by the variable. */
export function outboxUrl(flag: string, given: string | undefined, env: NodeJS.ProcessEnv): string {
  const url = given ?? env.MILLRACE_OUTBOX_URL ?? '';
  if (url === '') throw new Misuse(`${flag} or MILLRACE_OUTBOX_URL must say where the application's database is`);
  if (!/^postgres(ql)?:\/\//.test(url)) throw new Misuse(`${flag} must be a postgres:// URL`);
  return url;
}

export async function install({ argv, env, io }: Invocation): Promise<number> {
  const { options } = parse(specs.outboxInstall, argv);
  const url = outboxUrl('--to', options.to, env);
  const { applied, version } = await installOutbox(url, { app: options['app-role'], relay: options['relay-role'] });
  await io.print(`the outbox ${applied.length > 0 ? 'is installed' : 'was there'}, at version ${inPlace(version)}`);
  return 0;
}

const inPlace = (version: number): string =>
  version > OUTBOX_VERSION
    ? `${version}: newer than this program's (${OUTBOX_VERSION}), and left alone`
    : String(version);

export async function sql({ argv, io }: Invocation): Promise<number> {
  const { options } = parse(specs.outboxSql, argv);
  await io.print(outboxSql({ app: options['app-role'], relay: options['relay-role'] }).trimEnd());
  return 0;
}

export async function status({ argv, env, io }: Invocation): Promise<number> {
  const { options } = parse(specs.outboxStatus, argv);
  const found = await outboxStatus(outboxUrl('--to', options.to, env));
  await io.print(options.json ? JSON.stringify(found, null, 2) : inWords(found));
  return 0;
}

const many = (n: number): string => (n >= COUNTED ? `${COUNTED} or more` : String(n));

function inWords({ version, waiting, oldest_secs: oldest, refused, relays, refusals }: OutboxStatus): string {
  return [
    `version   ${version}`,
    `waiting   ${many(waiting)}${oldest === null ? '' : `, the oldest for ${Math.round(oldest)} s`}`,
    `refused   ${many(refused)}`,
    `relays    ${relays.length}`,
    ...refusals.map(
      ({ id, task, code, error, refused_at: at }) => `  ${id}  ${at}  ${task ?? 'workflow'}  ${code}: ${error}`,
    ),
  ].join('\n');
}

export async function retry({ argv, env, io }: Invocation): Promise<number> {
  const { options, args } = parse(specs.outboxRetry, argv);
  if (options.all === args.length > 0) throw new Misuse('outbox retry needs the ids of entries, or --all');
  if (!args.every((id) => UUID.test(id))) throw new Misuse('the id of an entry is a UUID; see millrace outbox status');
  const count = await retryRefused(outboxUrl('--to', options.to, env), options.all ? null : args);
  await io.print(`put back ${count} ${count === 1 ? 'entry' : 'entries'}`);
  return 0;
}

export async function prune({ argv, env, io }: Invocation): Promise<number> {
  const { options } = parse(specs.outboxPrune, argv);
  const refusedSecs = daysOf('--refused', options.refused);
  const handledSecs = daysOf('--handled', options.handled);
  if (refusedSecs === null && handledSecs === null) throw new Misuse('outbox prune needs --refused or --handled');
  const pruned = await pruneOutbox(outboxUrl('--to', options.to, env), refusedSecs, handledSecs);
  await io.print(`removed ${pruned.refused} refused and ${pruned.handled} handled`);
  return 0;
}

function daysOf(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const days = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || days > 36_500) throw new Misuse(`${flag} must be a number of days`);
  return days * DAY_SECS;
}

export async function uninstall({ argv, env, io }: Invocation): Promise<number> {
  const { options } = parse(specs.outboxUninstall, argv);
  await uninstallOutbox(outboxUrl('--to', options.to, env), { force: options.force });
  await io.print('the outbox is removed');
  return 0;
}
