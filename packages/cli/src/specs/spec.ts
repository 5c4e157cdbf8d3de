/**
 * What a command is: data, from which parsing, help, completion and docs/cli.md are made. What it does is in
 * `commands/`, and loaded only when it is called.
 */
export interface Option {
  /** What stands for its value in the help; without it, the option is a switch. */
  readonly value?: string;
  readonly help: string;
  readonly short?: string;
  /** May be given several times. */
  readonly many?: true;
  /** What it may be; checked, and offered by completion. */
  readonly choices?: readonly string[];
}

export type Options = Readonly<Record<string, Option>>;

export interface Argument {
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
  readonly many?: true;
  readonly choices?: readonly string[];
}

export interface Spec<O extends Options = Options> {
  /** One word or two: `jobs list`. */
  readonly name: string;
  readonly summary: string;
  /** More than the summary, in sentences. */
  readonly description?: string;
  readonly arguments?: readonly Argument[];
  readonly options: O;
  readonly examples: readonly Example[];
  /** Takes the flags of the server, and says nothing to one. */
  readonly server?: true;
  /** Handles signals itself. */
  readonly ownSignals?: true;
  /** Talks to a server: has `--url`, `--token`, `--profile`. */
  readonly client?: true;
}

export interface Example {
  readonly command: string;
  readonly does: string;
}

/** The values of options: text, lists of text, or whether a switch was given. */
export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends { readonly value: string }
    ? O[K] extends { readonly many: true }
      ? readonly string[]
      : string | undefined
    : boolean;
};

/** Keeps the literal types of the options, so that a command sees exactly those that it declares. */
export const spec = <const O extends Options>(definition: Spec<O>): Spec<O> => definition;

/** Where the server is. */
export const CONNECTION = {
  url: { value: 'URL', help: 'where the server is' },
  token: {
    value: 'TOKEN',
    help: 'the token to use; better in MILLRACE_TOKEN or a profile, where `ps` does not show it',
  },
  profile: { value: 'NAME', help: 'use this profile of the configuration' },
} as const;

export const JSON_OUTPUT = { json: { help: "print the API's JSON, as it came" } } as const;
/** Of everything that can be called up again and again. */
export const WATCH = {
  watch: { help: 'refresh until interrupted', short: 'w' },
  interval: { value: 'DURATION', help: 'how often --watch refreshes; default 2s' },
} as const;

export const example = (command: string, does: string): Example => ({ command, does });
