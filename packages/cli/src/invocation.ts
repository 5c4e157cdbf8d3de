/** What a command is given. Everything it reads and prints goes through here. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly isTTY: boolean;
  readonly underNpm: boolean;
  readonly print: (text: string) => void;
}
