import { Misuse } from '../invocation/exit.js';
import { readJson, recentFile, writePrivately } from './folders.js';

/** What a list was of; also what `@last` stands for in commands about such things. */
export type Kind = 'jobs' | 'workflows' | 'dead letters' | 'schedules' | 'operations';

interface Recent {
  /** Ids of one server mean nothing on another. */
  readonly url: string;
  readonly last: Readonly<Partial<Record<Kind, string>>>;
  readonly list: { readonly kind: Kind; readonly ids: readonly string[] } | null;
}

/** More rows than anybody counts. */
const MOST_ROWS = 1_000;

/** Remembers what was made and listed last, so that `@last` and `@1` can stand for it. */
export class RecentIds {
  readonly #path: string;
  readonly #url: string;

  constructor(env: NodeJS.ProcessEnv, url: string) {
    this.#path = recentFile(env);
    this.#url = url;
  }

  made(kind: Kind, id: string): void {
    const recent = this.#read();
    this.#write({ ...recent, last: { ...recent.last, [kind]: id } });
  }

  listed(kind: Kind, ids: readonly string[]): void {
    this.#write({ ...this.#read(), list: { kind, ids: ids.slice(0, MOST_ROWS) } });
  }

  /**
   * The id that was meant: `@last`, `@1`, a shortened one from the last list, or itself.
   *
   * @throws Misuse if there is nothing that it could stand for
   */
  resolve(kind: Kind, text: string): string {
    if (text === '@last') return this.#read().last[kind] ?? refuse(`no ${singular(kind)} has been made from here yet`);
    const row = /^@(\d+)$/.exec(text)?.[1];
    const parts = /^(\S{4,})…(\S{4})$/u.exec(text);
    if (row === undefined && parts === null) {
      if (text.startsWith('@'))
        refuse('a word that begins with @ is @last, or @1 and so on for a row of the last list');
      return text;
    }
    const list = this.#read().list ?? refuse(`there is no last list; call millrace ${command(kind)} list first`);
    if (list.kind !== kind) refuse(`the last list was of ${list.kind}, not of ${kind}`);
    if (row !== undefined) return list.ids[Number(row) - 1] ?? refuse(`the last list had ${list.ids.length} rows`);
    const [, start = '', end = ''] = parts ?? [];
    const matches = list.ids.filter((id) => id.startsWith(start) && id.endsWith(end));
    if (matches.length > 1) refuse('several rows of the last list look like that; use @1 and so on');
    return matches[0] ?? refuse('no row of the last list looks like that');
  }

  #read(): Recent {
    const nothing: Recent = { url: this.#url, last: {}, list: null };
    try {
      const recent = readJson(this.#path) as Recent | null;
      return recent?.url === this.#url && typeof recent.last === 'object' ? recent : nothing;
    } catch {
      return nothing;
    }
  }

  /** A convenience: a home that cannot be written to is no reason to fail. */
  #write(recent: Recent): void {
    try {
      writePrivately(this.#path, `${JSON.stringify(recent)}\n`);
    } catch {
      // Then @last and @1 say that there is nothing.
    }
  }
}

const singular = (kind: Kind): string => kind.replace(/s$/, '');
const command = (kind: Kind): string => (kind === 'dead letters' ? 'dlq' : kind === 'schedules' ? 'cron' : kind);

function refuse(message: string): never {
  throw new Misuse(message);
}
